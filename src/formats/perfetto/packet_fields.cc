#include "formats/perfetto/packet_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace inferprobe::perfetto {
namespace {

constexpr WireType kVarint = WireType::kVarint;
constexpr WireType kBytes = WireType::kBytes;

// By number; tests/e2e/test_perfetto_reader.py compares it with Perfetto's own descriptor.
constexpr PacketField kFields[] = {
    {1, "ftrace_events", kBytes},
    {2, "process_tree", kBytes},
    {3, "trusted_uid", kVarint},
    {4, "inode_file_map", kBytes},
    {5, "chrome_events", kBytes},
    {6, "clock_snapshot", kBytes},
    {7, "sys_stats", kBytes},
    {8, "timestamp", kVarint},
    {9, "process_stats", kBytes},
    {10, "trusted_packet_sequence_id", kVarint},
    {11, "track_event", kBytes},
    {12, "interned_data", kBytes},
    {13, "sequence_flags", kVarint},
    {33, "trace_config", kBytes},
    {34, "ftrace_stats", kBytes},
    {35, "trace_stats", kBytes},
    {36, "synchronization_marker", kBytes},
    {37, "profile_packet", kBytes},
    {38, "battery", kBytes},
    {39, "android_log", kBytes},
    {40, "power_rails", kBytes},
    {41, "incremental_state_cleared", kVarint},
    {42, "previous_packet_dropped", kVarint},
    {43, "process_descriptor", kBytes},
    {44, "thread_descriptor", kBytes},
    {45, "system_info", kBytes},
    {46, "trigger", kBytes},
    {47, "packages_list", kBytes},
    {48, "chrome_benchmark_metadata", kBytes},
    {49, "perfetto_metatrace", kBytes},
    {50, "compressed_packets", kBytes},
    {51, "chrome_metadata", kBytes},
    {52, "gpu_counter_event", kBytes},
    {53, "gpu_render_stage_event", kBytes},
    {54, "streaming_profile_packet", kBytes},
    {57, "graphics_frame_event", kBytes},
    {58, "timestamp_clock_id", kVarint},
    {59, "trace_packet_defaults", kBytes},
    {60, "track_descriptor", kBytes},
    {61, "module_symbols", kBytes},
    {62, "vulkan_memory_event", kBytes},
    {63, "gpu_log", kBytes},
    {64, "deobfuscation_mapping", kBytes},
    {65, "vulkan_api_event", kBytes},
    {66, "perf_sample", kBytes},
    {67, "cpu_info", kBytes},
    {68, "smaps_packet", kBytes},
    {69, "service_event", kBytes},
    {70, "initial_display_state", kBytes},
    {71, "gpu_mem_total_event", kBytes},
    {72, "extension_descriptor", kBytes},
    {73, "memory_tracker_snapshot", kBytes},
    {74, "streaming_allocation", kBytes},
    {75, "streaming_free", kBytes},
    {77, "android_energy_estimation_breakdown", kBytes},
    {78, "ui_state", kBytes},
    {79, "trusted_pid", kVarint},
    {82, "translation_table", kBytes},
    {83, "android_game_intervention_list", kBytes},
    {84, "statsd_atom", kBytes},
    {86, "android_system_property", kBytes},
    {87, "first_packet_on_sequence", kVarint},
    {89, "trace_uuid", kBytes},
    {90, "track_event_range_of_interest", kBytes},
    {91, "entity_state_residency", kBytes},
    {95, "etw_events", kBytes},
    {98, "machine_id", kVarint},
    {99, "v8_js_code", kBytes},
    {100, "v8_internal_code", kBytes},
    {101, "v8_wasm_code", kBytes},
    {102, "v8_reg_exp_code", kBytes},
    {103, "v8_code_move", kBytes},
    {107, "remote_clock_sync", kBytes},
    {109, "chrome_trigger", kBytes},
    {110, "pixel_modem_events", kBytes},
    {111, "pixel_modem_token_database", kBytes},
    {113, "clone_snapshot_trigger", kBytes},
    {115, "kernel_wakelock_data", kBytes},
    {117, "generic_kernel_task_state_event", kBytes},
    {118, "generic_kernel_cpu_freq_event", kBytes},
    {119, "cpu_per_uid_data", kBytes},
    {120, "generic_kernel_task_rename_event", kBytes},
    {122, "generic_kernel_process_tree", kBytes},
    {123, "user_list", kBytes},
    {124, "trace_provenance", kBytes},
    {125, "protovms", kBytes},
    {126, "trace_attributes", kBytes},
    {127, "android_aflags", kBytes},
    {128, "gpu_info", kBytes},
    {129, "generic_gpu_frequency_event", kBytes},
    {130, "interrupt_info", kBytes},
    {131, "art_process_metadata", kBytes},
    {132, "journald_event", kBytes},
    {133, "zstd_compressed_packets", kBytes},
    {134, "concurrent_session_event", kBytes},
    {135, "stack_sample", kBytes},
    {138, "recovered_trace_info", kBytes},
    {900, "for_testing", kBytes},
};

}  // namespace

const PacketField* FindPacketField(uint32_t number) {
  const auto* const at = std::lower_bound(
      std::begin(kFields), std::end(kFields), number,
      [](const PacketField& field, uint32_t wanted) { return field.number < wanted; });
  return at != std::end(kFields) && at->number == number ? at : nullptr;
}

std::string PacketFieldName(uint32_t number) {
  const PacketField* field = FindPacketField(number);
  return field != nullptr ? field->name : fmt::format("field {}", number);
}

}  // namespace inferprobe::perfetto
