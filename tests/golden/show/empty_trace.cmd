show ../../fixtures/perfetto/empty.pftrace
