show ../../fixtures/perfetto/counters.pftrace
