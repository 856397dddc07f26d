#include "base/memory_block.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/shared_memory.h"
#include "base/temporary_folder.h"

namespace inferprobe::base {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

size_t PageBytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

size_t ResidentBytes(const MemoryBlock& block) {
  std::vector<unsigned char> pages((block.size() + PageBytes() - 1) / PageBytes());
  EXPECT_EQ(mincore(block.data(), block.size(), pages.data()), 0);
  const auto present = [](unsigned char page) { return (page & 1) != 0; };
  return static_cast<size_t>(std::count_if(pages.begin(), pages.end(), present)) * PageBytes();
}

TEST(MemoryBlock, LargerThanTheMachineIsRefusedWithBothNumbers) {
  const auto physical = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * PageBytes();
  const TemporaryFolder folder;
  for (const bool file : {false, true}) {
    const auto block = file ? MemoryBlock::CreateFile(folder.File("x"), physical + 4096)
                            : MemoryBlock::Private(physical + 4096);
    ASSERT_FALSE(block);
    EXPECT_EQ(block.error().code, ErrorCode::kInvalidArgument);
    for (const size_t number : {physical, physical + 4096}) {
      EXPECT_NE(block.error().message.find(std::to_string(number)), std::string::npos)
          << block.error().message;
    }
  }
  EXPECT_NE(access(folder.File("x").c_str(), F_OK), 0);
}

// A first scope must not wait until gigabytes are filled with zeros.
TEST(MemoryBlock, ReservingMuchPrivateMemoryTouchesItsBeginningOnly) {
  const auto block = MemoryBlock::Private(512 * kMiB);
  ASSERT_TRUE(block);
  ASSERT_TRUE(block->Reserve(0, 4096));
  EXPECT_LE(ResidentBytes(*block), 2 * kMiB);  // a huge page
  ASSERT_TRUE(block->Reserve(0, block->size()));
  EXPECT_GE(ResidentBytes(*block), MemoryBlock::kPopulatedBytes);
  EXPECT_LE(ResidentBytes(*block), MemoryBlock::kPopulatedBytes + 2 * kMiB);
  block->data()[block->size() - 1] = std::byte{1};
}

TEST(MemoryBlock, OfAFileAllBlocksOfTheDiskAreReserved) {
  const TemporaryFolder folder;
  const auto block = MemoryBlock::CreateFile(folder.File("x"), 96 * kMiB);
  ASSERT_TRUE(block) << block.error().message;
  ASSERT_TRUE(block->Reserve(0, block->size()));
  struct stat info = {};
  ASSERT_EQ(stat(folder.File("x").c_str(), &info), 0);
  EXPECT_GE(static_cast<size_t>(info.st_blocks) * 512, block->size());
}

// Nobody else reserves a memfd's pages: one that is missing would be a SIGBUS later.
TEST(MemoryBlock, OfSharedMemoryEveryPageIsReserved) {
  const auto memory = SharedMemory::Create(96 * kMiB);
  ASSERT_TRUE(memory);
  const auto block = MemoryBlock::Shared(memory->fd(), memory->size());
  ASSERT_TRUE(block);
  ASSERT_TRUE(block->Reserve(0, block->size()));
  EXPECT_EQ(ResidentBytes(*block), block->size());
}

}  // namespace
}  // namespace inferprobe::base
