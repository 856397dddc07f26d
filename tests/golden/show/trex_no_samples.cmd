show ../../fixtures/trex/f27_trt_count_zero.json
