/* A known path through C++: templates, a virtual method, operators and namespaces. */
#include <map>
#include <string>
#include <vector>

#include "tests/unit/collector/unwind/call_path.h"

extern "C" void self_capture_take(void);

namespace shop
{

static volatile int sink;

struct Base {
	virtual ~Base() = default;
	virtual int visit(const std::vector<int> &numbers) = 0;
};

template <typename Key, int size> struct Counter : Base {
	__attribute__((noinline)) int visit(const std::vector<int> &numbers) override
	{
		self_capture_take();
		sink = size;
		return (int)numbers.size() + sink;
	}
};

template <typename Value> __attribute__((noinline)) int operator<<(Base &base, const Value &value)
{
	const int result = base.visit(std::vector<int>(value.size()));

	return result + sink;
}

__attribute__((noinline)) static int apply(Base &base, const std::map<std::string, int> &map)
{
	return (base << map) + sink;
}

} // namespace shop

extern "C" int template_path(void)
{
	shop::Counter<std::string, 3> counter;
	const std::map<std::string, int> map = { { "a", 1 } };

	return shop::apply(counter, map) + shop::sink;
}
