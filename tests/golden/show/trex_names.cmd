show ../../fixtures/trex/control_and_utf8_layers.json
