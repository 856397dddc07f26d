show ../../fixtures/trex/f06_trex_trailing_comma_nan.json
