show ../../fixtures/perfetto/counters.pftrace --events
