// Documents over HTTP: indexed, found with what they carry, replaced and removed; other processes' changes are seen.
#include <filesystem>
#include <fstream>

#include "quern/base/mmap.h"
#include "quern/recall/store/store.h"
#include "tests/cli/shell.h"
#include "tests/serve/serving.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

class RecallService : public Serving {
 protected:
  void start_here(serve::AppOptions o = {}) {
    fs::create_directories(folder_ / "text/notes");
    std::ofstream(folder_ / "text/mill.md") << "# The mill\n\nThe old mill burned down in the spring.\n";
    std::ofstream(folder_ / "text/notes/bread.txt") << "Bread needs flour, water and salt.\n";
    auto store = recall::RecallStore::open_or_create(folder_ / "index", {});
    store.index({folder_ / "text"}, {});
    o.grounding.documents = folder_ / "index";
    start(o);
  }
  Json search(const std::string& body) { return ok(post("/v1/recall/search", body)); }
  Json index(const std::string& documents) {
    return ok(post("/v1/recall/index", R"({"documents": [)" + documents + "]}"));
  }
  std::string bytes() const {
    std::string all;
    for (const auto& e : fs::recursive_directory_iterator(folder_ / "index"))
      if (e.is_regular_file()) all += read_file(e.path());
    return all;
  }
  ScratchFolder folder_;
};

TEST_F(RecallService, IndexesSearchesAndRemoves) {
  start_here();
  EXPECT_TRUE(search(R"({"query": "When did the mill burn down?"})")
                  .at("data")
                  .as_array()[0]
                  .at("id")
                  .as_string()
                  .ends_with("text/mill.md"));
  const Json none = search(R"({"query": "zebra crossing"})");
  EXPECT_EQ(none.at("found").as_int(), 0);
  EXPECT_NE(none.at("notes").dump().find("nothing found"), std::string::npos);
  const Json put = index(R"({"id": "faq/1", "title": "Zebra crossings", "text": "Pedestrians have the right of way.",
      "url": "https://example.org/1", "metadata": {"lang": "en", "year": 2026}},
    {"id": "faq", "text": "A parent of another name.", "metadata": {"lang": "de"}})");
  EXPECT_EQ(put.at("indexed").as_int(), 2);
  EXPECT_EQ(put.at("replaced").as_int(), 0);
  EXPECT_EQ(put.at("documents").as_int(), 4);
  const Json found = search(R"({"query": "zebra crossing", "k": 3})");  // by its title alone
  const Json& hit = found.at("data").as_array()[0];
  EXPECT_EQ(hit.at("id").as_string(), "faq/1") << found.dump();
  EXPECT_EQ(hit.at("title").as_string(), "Zebra crossings");
  EXPECT_EQ(hit.at("url").as_string(), "https://example.org/1");
  EXPECT_EQ(hit.at("metadata").at("year").as_int(), 2026);
  EXPECT_EQ(hit.at("text").as_string(), "Pedestrians have the right of way.");
  // Replaced: the old words are gone, from the disk too, and what it carried with them.
  EXPECT_EQ(index(R"({"id": "faq/1", "text": "Cyclists dismount.", "title": "Bridges"})").at("replaced").as_int(), 1);
  EXPECT_EQ(search(R"({"query": "pedestrians zebra"})").at("found").as_int(), 0);
  EXPECT_EQ(bytes().find("Pedestrians"), std::string::npos);
  EXPECT_EQ(bytes().find("example.org"), std::string::npos);
  EXPECT_TRUE(ok(http(port(), "DELETE", "/v1/recall/documents/faq")).at("deleted").as_bool());
  EXPECT_EQ(search(R"({"query": "cyclists dismount"})").at("found").as_int(), 1);  // what lies below the name stays
  refused(http(port(), "DELETE", "/v1/recall/documents/faq"), 404, "faq");
  ok(http(port(), "DELETE", "/v1/recall/documents/faq/1"));
  EXPECT_EQ(bytes().find("Cyclists"), std::string::npos);
  EXPECT_EQ(search(R"({"query": "When did the mill burn down?"})").at("found").as_int() > 0, true);
}

TEST_F(RecallService, FiltersByMetadata) {
  start_here();
  std::string documents;
  for (int i = 0; i < 40; ++i)
    documents += fmt::format(
        R"({}{{"id": "d{}", "text": "The lantern hangs in hall {}.", "metadata": {{"hall": {}, "lang": "{}"}}}})",
        i ? "," : "", i, i, i, i % 20 == 7 ? "de" : "en");
  index(documents);
  const Json german = search(R"({"query": "lantern", "filter": {"lang": "de"}, "k": 5})");
  ASSERT_EQ(german.at("found").as_int(), 2) << german.dump();
  for (const Json& h : german.at("data").as_array()) EXPECT_EQ(h.at("metadata").at("lang").as_string(), "de");
  EXPECT_EQ(search(R"({"query": "lantern", "filter": {"hall": [1, 2, 99]}})").at("found").as_int(), 2);
  const Json none = search(R"({"query": "lantern", "filter": {"lang": "fr"}})");
  EXPECT_EQ(none.at("found").as_int(), 0);
  EXPECT_NE(none.at("notes").dump().find("filter"), std::string::npos);
}

TEST_F(RecallService, SeesWhatOthersChange) {
  start_here();
  std::ofstream(folder_ / "text/tower.txt") << "The tower stands on the hill.\n";
  recall::RecallStore(folder_ / "index").index({folder_ / "text"}, {});
  EXPECT_EQ(search(R"({"query": "tower"})").at("found").as_int(), 1);
  index(R"({"id": "gate", "text": "The gate is locked."})");  // on top of what the other one wrote
  recall::RecallStore other(folder_ / "index");
  EXPECT_FALSE(other.fused("gate", 1).hits.empty());
  EXPECT_FALSE(other.fused("tower", 1).hits.empty());
  other.remove({"gate"});
  EXPECT_EQ(search(R"({"query": "gate"})").at("found").as_int(), 0);
  // Files and documents of the body live side by side: indexing the files again leaves these alone.
  index(R"({"id": "gate", "text": "The gate is locked."})");
  recall::RecallStore(folder_ / "index").index({folder_ / "text"}, {});
  EXPECT_EQ(search(R"({"query": "gate"})").at("found").as_int(), 1);
}

TEST_F(RecallService, RefusesWhatIsWrong) {
  start_here();
  const std::string before = bytes();
  for (const auto& [body, word] : std::vector<std::pair<const char*, const char*>>{
           {"{}", "documents"},
           {R"({"documents": []})", "documents"},
           {R"({"documents": [5]})", "documents[0]"},
           {R"({"documents": [{"id": "a"}]})", "text"},
           {R"({"documents": [{"text": "a"}]})", "id"},
           {R"({"documents": [{"id": "", "text": "a"}]})", "id"},
           {R"({"documents": [{"id": "a\u0000b", "text": "a"}]})", "id"},
           {R"({"documents": [{"id": "a\nb", "text": "a"}]})", "id"},
           {R"({"documents": [{"id": "a", "text": " \n"}]})", "text"},
           {R"({"documents": [{"id": "a", "text": "x\u0000y"}]})", "zero bytes"},
           {R"({"documents": [{"id": "a", "text": "x", "metadata": []}]})", "metadata"},
           {R"({"documents": [{"id": "a", "text": "x", "format": "pdf"}]})", "format"},
           {R"({"documents": [{"id": "a", "text": "good"}, {"id": "b", "text": "x", "uri": "y"}]})",
            "documents[1].uri"}})
    refused(post("/v1/recall/index", body), 400, word);
  EXPECT_EQ(bytes(), before);
  for (const auto& [body, word] :
       std::vector<std::pair<const char*, const char*>>{{"{}", "query"},
                                                        {R"({"query": ""})", "query"},
                                                        {R"({"query": 1})", "query"},
                                                        {R"({"query": "x", "k": 0})", "k"},
                                                        {R"({"query": "x", "filter": "de"})", "filter"},
                                                        {R"({"query": "x", "top_k": 3})", "top_k"}})
    refused(post("/v1/recall/search", body), 400, word);
  refused(http(port(), "DELETE", "/v1/recall/documents/../../etc/passwd"), 404, "no document");
  refused(http(port(), "DELETE", "/v1/recall/documents/text"), 404, "no document");
  EXPECT_EQ(bytes(), before);
  EXPECT_EQ(
      index(
          R"({"id": "../up", "format": "html", "text": "<h1>Owls</h1><script>var weasel;</script><p>They fly at night.</p>"})")
          .at("indexed")
          .as_int(),
      1);
  EXPECT_EQ(search(R"({"query": "weasel"})").at("found").as_int(), 0);
  EXPECT_EQ(search(R"({"query": "owls night"})").at("data").as_array()[0].at("id").as_string(), "../up");
  EXPECT_FALSE(fs::exists(folder_ / "up"));
}

TEST_F(RecallService, KeysAndPages) {
  std::ofstream(folder_ / "keys.toml") << "[[key]]\nname = \"ada\"\nkey = \"ada-secret\"\n\n"
                                          "[[key]]\nname = \"root\"\nkey = \"root-secret\"\nadmin = true\n";
  serve::AppOptions o;
  o.keys_file = folder_ / "keys.toml";
  start_here(o);
  const char *ada = "Authorization: Bearer ada-secret\r\n", *root = "Authorization: Bearer root-secret\r\n";
  const char* one = R"({"documents": [{"id": "a", "text": "almond"}]})";
  refused(post("/v1/recall/search", R"({"query": "mill"})"), 401, "key");
  EXPECT_EQ(ok(post("/v1/recall/search", R"({"query": "mill"})", ada)).at("found").as_int(), 1);
  refused(post("/v1/recall/index", one), 401, "key");
  refused(post("/v1/recall/index", one, ada), 403, "admin");
  refused(http(port(), "DELETE", "/v1/recall/documents/a", "", ada), 403, "admin");
  ok(post("/v1/recall/index", one, root));
  const std::string evil = std::string(root) + "Origin: https://evil.example\r\n";
  refused(post("/v1/recall/index", one, evil.c_str()), 403, "pages of");
  refused(http(port(), "DELETE", "/v1/recall/documents/a", "", evil), 403, "pages of");
  ok(http(port(), "DELETE", "/v1/recall/documents/a", "", root));
}

TEST_F(RecallService, WithoutDocuments) {
  start();
  refused(post("/v1/recall/search", R"({"query": "x"})"), 404, "no_documents");
  refused(post("/v1/recall/index", R"({"documents": [{"id": "a", "text": "x"}]})"), 404, "no_documents");
  refused(http(port(), "DELETE", "/v1/recall/documents/a"), 404, "no_documents");
}

}  // namespace
}  // namespace quern
