show ../../fixtures/trex/f09_control_and_utf8.json
