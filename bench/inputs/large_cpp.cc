/* A C++ program with much code from templates, for benchmarks and comparisons of symbolizers: containers, algorithms with lambdas,
 * regular expressions, variants, exceptions, virtual calls, once for each of many types.  */
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace shop {

template <int N> struct Money {
    long cents = N;
    bool operator<(const Money &other) const { return cents < other.cents; }
    bool operator==(const Money &other) const { return cents == other.cents; }
    Money operator+(const Money &other) const { return { cents + other.cents }; }
};

template <int N> std::ostream &operator<<(std::ostream &out, const Money<N> &money)
{
    return out << money.cents / 100 << '.' << money.cents % 100 << "/" << N;
}

struct Visitor {
    virtual ~Visitor() = default;
    virtual void visit(const std::string &name, long value) = 0;
};

template <int N> class Ledger {
  public:
    void add(const std::string &name, long cents)
    {
        if (name.empty())
            throw std::invalid_argument("no name for " + std::to_string(N));
        entries_[name].push_back({ cents });
        order_.insert({ cents });
        index_.emplace(name, entries_.size());
    }

    std::optional<Money<N>> total(const std::string &name) const
    {
        auto found = entries_.find(name);
        if (found == entries_.end())
            return std::nullopt;
        return std::accumulate(found->second.begin(), found->second.end(), Money<N>{ 0 });
    }

    void sort()
    {
        for (auto &[name, values] : entries_) {
            std::stable_sort(values.begin(), values.end(), [](const Money<N> &a, const Money<N> &b) { return b < a; });
            values.erase(std::unique(values.begin(), values.end()), values.end());
        }
    }

    std::string print(const std::regex &pattern) const
    {
        std::ostringstream out;
        for (const auto &[name, values] : entries_) {
            std::smatch match;
            if (!std::regex_search(name, match, pattern))
                continue;
            out << match.str(0) << ':';
            for (const auto &value : values)
                out << ' ' << value;
            out << '\n';
        }
        return out.str();
    }

    void accept(Visitor &visitor) const
    {
        std::for_each(entries_.begin(), entries_.end(), [&](const auto &entry) {
            for (const auto &value : entry.second)
                visitor.visit(entry.first, value.cents + N);
        });
    }

  private:
    std::map<std::string, std::vector<Money<N>>> entries_;
    std::set<Money<N>> order_;
    std::unordered_map<std::string, std::size_t> index_;
};

template <int N> class Sum : public Visitor {
  public:
    void visit(const std::string &name, long value) override
    {
        static const std::function<long(long)> rate = [](long v) { return v * N / 100; };
        last_ = name.size() % 2 ? Kind(value) : Kind(name);
        sum_ += std::visit([](const auto &kind) -> long {
            if constexpr (std::is_same_v<std::decay_t<decltype(kind)>, long>)
                return rate(kind);
            else
                return static_cast<long>(kind.size());
        }, last_);
    }
    long sum() const { return sum_; }

  private:
    using Kind = std::variant<long, std::string>;
    Kind last_;
    long sum_ = 0;
};

template <int N> long run(const std::vector<std::string> &names, const std::regex &pattern)
{
    auto ledger = std::make_unique<Ledger<N>>();
    Sum<N> sum;
    long cents = N;
    for (const auto &name : names) {
        try {
            ledger->add(name, cents = cents * 31 % 10007);
        } catch (const std::invalid_argument &error) {
            std::cerr << error.what() << '\n';
        }
    }
    ledger->sort();
    ledger->accept(sum);
    std::cout << ledger->print(pattern);
    return sum.sum() + ledger->total("bread").value_or(Money<N>{}).cents;
}

template <int... N> long all(std::integer_sequence<int, N...>, const std::vector<std::string> &names, const std::regex &pattern)
{
    return (run<N>(names, pattern) + ...);
}

} // namespace shop

int main(int count, char **arguments)
{
    std::vector<std::string> names(arguments, arguments + count);
    return shop::all(std::make_integer_sequence<int, TYPES>{}, names, std::regex("b.*d|[a-m]+")) & 1;
}
