// The part of the demo's server that is no Python: tensors on an allocator that keeps freed memory, as frameworks have it.
//
// Built by gpu_demo.py, called by llm_server.py over ctypes. The driver's functions are handed in, so that nothing is linked.
#include <cstddef>
#include <cstdint>
#include <map>
#include <new>
#include <unordered_map>

namespace tensor
{

struct Driver {
	int (*allocate)(std::uint64_t *address, std::size_t bytes);
	int (*release)(std::uint64_t address);
};

// Memory comes from the driver in blocks of whole segments, and goes back when somebody trims.
template <std::size_t Segment> class CachingAllocator
{
      public:
	explicit CachingAllocator(const Driver &driver) : driver_(driver)
	{
	}

	~CachingAllocator()
	{
		trim();
		for (const auto &block : live_)
			driver_.release(block.first);
	}

	std::uint64_t allocate(std::size_t bytes)
	{
		const std::size_t size = (bytes + Segment - 1) / Segment * Segment;
		const auto kept = free_.find(size);
		std::uint64_t address = 0;

		if (kept != free_.end()) {
			address = kept->second;
			free_.erase(kept);
		} else {
			address = from_driver(size);
		}
		if (address)
			live_.emplace(address, size);
		return address;
	}

	void release(std::uint64_t address)
	{
		const auto block = live_.find(address);

		if (block == live_.end())
			return;
		free_.emplace(block->second, address);
		live_.erase(block);
	}

	void trim()
	{
		for (const auto &block : free_)
			if (driver_.release(block.second) == 0)
				reserved_ -= block.first;
		free_.clear();
	}

	std::size_t reserved() const
	{
		return reserved_;
	}

	std::size_t refused() const
	{
		return refused_;
	}

      private:
	std::uint64_t from_driver(std::size_t size)
	{
		std::uint64_t address = 0;

		if (driver_.allocate(&address, size) != 0) {
			// once more with everything that is kept given back
			refused_++;
			trim();
			if (driver_.allocate(&address, size) != 0) {
				refused_++;
				return 0;
			}
		}
		reserved_ += size;
		return address;
	}

	Driver driver_;
	std::unordered_map<std::uint64_t, std::size_t> live_;
	std::multimap<std::size_t, std::uint64_t> free_;
	std::size_t reserved_ = 0;
	std::size_t refused_ = 0;
};

using Allocator = CachingAllocator<std::size_t(2) << 20>;

__attribute__((noinline)) std::uint64_t empty(Allocator &allocator, std::size_t bytes)
{
	return allocator.allocate(bytes);
}

// What a layer computes is not computed: only the memory that it takes meanwhile is taken.
__attribute__((noinline)) int linear(Allocator &allocator, std::size_t bytes, int (*epilogue)())
{
	const std::uint64_t workspace = empty(allocator, bytes);
	const int result = epilogue ? epilogue() : 0;

	allocator.release(workspace);
	return workspace ? result : -1;
}

} // namespace tensor

extern "C" {

void *tensor_open(int (*allocate)(std::uint64_t *, std::size_t), int (*release)(std::uint64_t))
{
	return new (std::nothrow) tensor::Allocator(tensor::Driver{ allocate, release });
}

void tensor_close(void *allocator)
{
	delete static_cast<tensor::Allocator *>(allocator);
}

std::uint64_t tensor_empty(void *allocator, std::size_t bytes)
{
	return tensor::empty(*static_cast<tensor::Allocator *>(allocator), bytes);
}

void tensor_release(void *allocator, std::uint64_t address)
{
	static_cast<tensor::Allocator *>(allocator)->release(address);
}

int tensor_linear(void *allocator, std::size_t bytes, int (*epilogue)())
{
	return tensor::linear(*static_cast<tensor::Allocator *>(allocator), bytes, epilogue);
}

void tensor_trim(void *allocator)
{
	static_cast<tensor::Allocator *>(allocator)->trim();
}

std::size_t tensor_reserved(void *allocator)
{
	return static_cast<tensor::Allocator *>(allocator)->reserved();
}

std::size_t tensor_refused(void *allocator)
{
	return static_cast<tensor::Allocator *>(allocator)->refused();
}
}
