show ../../fixtures/perfetto/counters.pftrace --format csv
