show ../../fixtures/trex/f29_trt_graph_names_only.json
