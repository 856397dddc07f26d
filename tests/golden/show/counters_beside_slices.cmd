show ../../fixtures/perfetto/sdk.pftrace
