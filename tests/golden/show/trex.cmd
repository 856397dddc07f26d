show ../../fixtures/trex/f26_trt_profile.json
