show ../../fixtures/trex/f28_trt_graph_profiles.json
