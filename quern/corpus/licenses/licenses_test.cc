// Licenses by tags, names, addresses and wordings; words that only look alike. Larger material:
// tools/corpora/licenses.py.
#include "quern/corpus/licenses/licenses.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <set>

#include "quern/base/test_message.h"
#include "quern/corpus/licenses/license_phrases.h"
#include "quern/corpus/licenses/spdx.h"

namespace quern::corpus {
namespace {

std::string licenses(std::string_view text) {
  LicenseScratch scratch;
  return fmt::format("{}", fmt::join(find_licenses(text, scratch), " "));
}

TEST(Licenses, TagsAndFields) {
  EXPECT_EQ(licenses("// SPDX-License-Identifier: MIT OR Apache-2.0\n"), "Apache-2.0 MIT");
  EXPECT_EQ(licenses("/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR bsd-3-clause */"),
            "BSD-3-Clause GPL-2.0-only");
  EXPECT_EQ(licenses("# SPDX-License-Identifier: GPL-2.0+"), "GPL-2.0-or-later");
  EXPECT_EQ(licenses("# SPDX-License-Identifier: LicenseRef-Own-1"), "LicenseRef-Own-1");
  EXPECT_EQ(licenses("# SPDX-License-Identifier: <id>\n# SPDX-License-Identifier:"), "");
  EXPECT_EQ(licenses(R"({"name":"x","license":"MIT","n":1})"), "MIT");
  EXPECT_EQ(licenses("license = \"MIT OR Apache-2.0\"\n"), "Apache-2.0 MIT");
  EXPECT_EQ(licenses("License: ISC\n"), "ISC");
  EXPECT_EQ(licenses("Zlib License: a note"), "Zlib");
  EXPECT_EQ(licenses("License: Ruby is a language\nlicense: see LICENSE\nlicense = X\nlicense:"), "");
}

TEST(Licenses, TagsThatAreNotQuiteOnes) {
  EXPECT_EQ(licenses("// SPDX-License-Identifier: SPDX-License-Identifier: MIT\n"), "MIT");
  EXPECT_EQ(licenses("// SPDX-License-Identifier: see the file LICENSE\n"), "");
  EXPECT_EQ(licenses("<!-- SPDX-License-Identifier: OwnLicense-1 -->\n"), "OwnLicense-1");
  EXPECT_EQ(licenses("SPDX-License-Identifier: MIT, as always\n"), "MIT");
}

TEST(Licenses, GnuVersions) {
  constexpr std::pair<const char*, const char*> kCases[] = {
      {"it under the terms of the GNU General Public License as published by\n * the Free Software Foundation; "
       "either version 2 of "
       "the License, or\n * (at your option) any later version.",
       "GPL-2.0-or-later"},
      {"the GNU General Public License version 2 as published by the Free Software Foundation.", "GPL-2.0-only"},
      {"under the terms of version 2.1 of the GNU Lesser General Public License", "LGPL-2.1-only"},
      {"version 2, or (at your option) any later version of the GNU Library General Public License",
       "LGPL-2.0-or-later"},
      {"License: GPL-2+", "GPL-2.0-or-later"},
      {"GPLv3+ or LGPLv2.1", "GPL-3.0-or-later LGPL-2.1-only"},
      {"License: GPL (>= 2)", "GPL-2.0-or-later"},
      {"GNU GPL version 2 or 3", "GPL-2.0-only GPL-3.0-only"},
      {"either the GPL version 2 or the LGPL version 2.1", "GPL-2.0-only LGPL-2.1-only"},
      {"GNU Affero General Public Licence v3.0", "AGPL-3.0-only"},
      {"GNU Free Documentation License, Version 1.2 or any later version", "GFDL-1.2-or-later"},
      {"https://www.gnu.org/licenses/gpl-3.0.html", "GPL-3.0-only"},
      {"This is under the GPL.", "GPL"},
      {"the GPL, see the GNU General Public License version 4 in 2007", "GPL"},
      // What a package says of a license and where its text lies is one license.
      {"GPL version 2 or later. The text of GPL version 2 is in /usr/share/common-licenses/GPL-3",
       "GPL-2.0-or-later"},
      {"under the GPL: /usr/share/common-licenses/GPL-2", "GPL-2.0-only"},
      {"version 2 of the GPL only; others: GPL-2+", "GPL-2.0-or-later"},
      {"GPL version 2 only; others: GPL-2+", "GPL-2.0-only GPL-2.0-or-later"},
  };
  for (const auto& [text, ids] : kCases) EXPECT_EQ(licenses(text), ids) << text;
}

TEST(Licenses, NamesAndAddresses) {
  constexpr std::pair<const char*, const char*> kCases[] = {
      {"Licensed under the Apache License, Version 2.0 (the \"License\")", "Apache-2.0"},
      {"http://www.apache.org/licenses/LICENSE-2.0", "Apache-2.0"},
      {"https://creativecommons.org/licenses/by-sa/4.0/", "CC-BY-SA-4.0"},
      {"Creative Commons Attribution-NonCommercial-ShareAlike 3.0 Unported License", "CC-BY-NC-SA-3.0"},
      {"Creative Commons Attribution-Share Alike 2.5 License", "CC-BY-SA-2.5"},
      {"CC BY 4.0, and CC-BY-SA for the rest", "CC-BY-4.0 CC-BY-SA"},
      {"http://creativecommons.org/publicdomain/zero/1.0/", "CC0-1.0"},
      {"the MIT licence; the ISC licence; 3-clause BSD license", "BSD-3-Clause ISC MIT"},
      {"License :: OSI Approved :: MIT License", "MIT"},
      {"a BSD-style license", "BSD"},
      {"subject to the terms of the Mozilla Public License, v. 2.0.", "MPL-2.0"},
      {"free software under the same terms as Perl itself.", "Artistic-1.0-Perl GPL-1.0-or-later"},
      {"Artistic License 2.0", "Artistic-2.0"},
      {"Boost Software License, Version 1.0", "BSL-1.0"},
      {"This file is in the public domain.", "public-domain"},
  };
  for (const auto& [text, ids] : kCases) EXPECT_EQ(licenses(text), ids) << text;
}

TEST(Licenses, ShortNames) {
  constexpr std::pair<const char*, const char*> kCases[] = {
      {"The code is MPL 2.0.", "MPL-2.0"},
      {"EPL-2.0 or CDDL 1.0", "CDDL-1.0 EPL-2.0"},
      {"dual: 0BSD, WTFPL", "0BSD WTFPL"},
      {"released under Apache 2", ""},
      {"license: released under Apache 2", "Apache-2.0"},
      {"a simple example, replay, EPL, MPL and the bsd", ""},
      {"x0bsd wtfplx empl 2", ""},
  };
  for (const auto& [text, ids] : kCases) EXPECT_EQ(licenses(text), ids) << text;
}

TEST(Licenses, NamesThatAreDenied) {
  EXPECT_EQ(licenses("This file is NOT under the MIT license."), "");
  EXPECT_EQ(licenses("It is not licensed under the terms of the GNU GPL version 3, but under the ISC license."),
            "ISC");
  EXPECT_EQ(licenses("may not be used except under the MIT license"), "MIT");
  EXPECT_EQ(licenses("If not, see the GNU General Public License version 2"), "GPL-2.0-only");
}

TEST(Licenses, ThatARowStates) {
  LicenseScratch scratch;
  const auto of = [&](std::string_view text, std::string_view stated) {
    return fmt::format("{}", fmt::join(find_licenses(text, stated, scratch), " "));
  };
  EXPECT_EQ(of("a text", "mit"), "MIT");
  EXPECT_EQ(of("a text", "https://creativecommons.org/licenses/by-sa/4.0/"), "CC-BY-SA-4.0");
  EXPECT_EQ(of("under the GPL", "gpl-3.0"), "GPL-3.0-only");
  EXPECT_EQ(of("the ISC license", R"(["MIT", "Apache-2.0", 3])"), "Apache-2.0 ISC MIT");
  EXPECT_EQ(of("a text", "[MIT]"), "MIT");
  EXPECT_EQ(of("a text", "other"), "");
  EXPECT_EQ(of("a text", ""), "");
}

TEST(Licenses, Wordings) {
  const std::string bsd =
      "Redistribution and use in source and binary forms, with or without\n# modification, are permitted";
  EXPECT_EQ(licenses(bsd), "BSD-2-Clause");
  EXPECT_EQ(licenses(bsd + ": names must not be used to endorse or promote products"), "BSD-3-Clause");
  EXPECT_EQ(licenses(bsd + ": all advertising materials mentioning features; to endorse or promote products"),
            "BSD-4-Clause");
  EXPECT_EQ(licenses(bsd + std::string(4000, '.') + " a b " + bsd), "BSD-2-Clause");
  const std::string mit =
      "to any person obtaining a copy of this software and associated documentation files (permission is granted)";
  EXPECT_EQ(licenses(mit), "MIT");
  EXPECT_EQ(licenses(mit + " Except as contained in this notice, the name of X"), "X11");
  EXPECT_EQ(
      licenses("Permission to use it for any purpose with or without fee is hereby granted, provided that the above"),
      "ISC");
}

TEST(Licenses, InsideAFullTextOthersAreNotItsOwn) {
  const std::string text =
      "GNU GENERAL PUBLIC LICENSE\nVersion 3, 29 June 2007\nPreamble\nUse with the GNU Affero General Public "
      "License, version 3.\n"
      "GNU General Public License as published by the Free Software Foundation, either version 3 of the License, or "
      "any later "
      "version.\n";
  const std::string end = "use the GNU Lesser General Public License instead of this License.";
  EXPECT_EQ(licenses(text + end), "GPL-3.0-only");
  EXPECT_EQ(licenses(text + end + " MIT license"), "GPL-3.0-only MIT");
  EXPECT_EQ(licenses("GPL version 3 or later. " + text + end), "GPL-3.0-or-later");
  EXPECT_EQ(licenses(text), "AGPL-3.0-only GPL-3.0-or-later");  // without its end it is no full text
}

TEST(Licenses, OrdinaryWords) {
  for (const char* text :
       {"he lost his driving license in the general public",
        "MIT is a university; the Apache tribe; permission to use the bath",
        "mit Lizenz; artistic license was taken by the painter", "She works in the public domain.",
        "agpls gplot cc0l egplv", "the gene is expressed; BSD systems; zlib compresses; an ISC report", "", "g", "gp",
        "lic", "licens"})
    EXPECT_EQ(licenses(text), "") << text;
}

TEST(Licenses, TablesAgreeWithEachOther) {
  std::set<std::string_view> all;
  const std::vector<std::string> spdx = spdx_identifiers();
  for (const LicensePhrase& p : license_phrases()) {
    EXPECT_TRUE(all.insert(p.words).second) << p.words << " twice";
    const bool family =
        p.kind == PhraseKind::family || p.kind == PhraseKind::pointer || p.kind == PhraseKind::versioned;
    if (family) {
      EXPECT_NE(license_family(p.id), nullptr) << p.id;
    }
    // Names must be found alone; a wording stands beside other words of its license.
    if (family || p.kind == PhraseKind::creative || p.kind == PhraseKind::full_text ||
        p.words.find("license") != p.words.npos) {
      const std::string version = p.kind == PhraseKind::versioned ? " 2.0" : "";
      EXPECT_TRUE(has_license_word(std::string(p.words) + version)) << p.words;
    }
  }
  for (const std::string& id : spdx) EXPECT_EQ(spdx_identifier(id), id);
  EXPECT_EQ(spdx_identifier("gpl-2.0"), "GPL-2.0-only");
  EXPECT_EQ(spdx_identifier("nothing"), "");
}

TEST(Licenses, Choices) {
  const LicenseChoice gnu("GPL,lgpl-2.1,permissive", "license:IDS");
  for (const char* id : {"GPL", "GPL-2.0-only", "GPL-3.0-or-later", "LGPL-2.1-only", "MIT", "BSD-3-Clause",
                         "CC-BY-4.0", "public-domain"})
    EXPECT_TRUE(gnu.has(id)) << id;
  for (const char* id : {"LGPL-2.1-or-later", "AGPL-3.0-only", "CC-BY-SA-4.0", "CC-BY-NC-4.0", "MPL-2.0", "GPLX", ""})
    EXPECT_FALSE(gnu.has(id)) << id;
  const auto refused = [](const char* ids) { return message_of([&] { LicenseChoice(ids, "license:IDS"); }); };
  EXPECT_NE(refused("Apache-2").find("did you mean 'Apache'"), std::string::npos) << refused("Apache-2");
  EXPECT_NE(refused("").find("'' in license:IDS: expected permissive, SPDX identifiers, or families"),
            std::string::npos);
  EXPECT_NE(refused("MIT,").find("''"), std::string::npos);
}

TEST(Licenses, TitlesBehindCreativeCommons) {
  EXPECT_EQ(licenses("Creative Commons Attribution-ShareAlike 4.0 International"), "CC-BY-SA-4.0");
  EXPECT_EQ(licenses("Creative Commons Attribution-NonCommercial 4.0 International License"), "CC-BY-NC-4.0");
  EXPECT_EQ(licenses("Creative Commons Attribution 4.0 International"), "CC-BY-4.0");
}

// A name that a text has a hundred thousand times costs no more for each than once.
TEST(Licenses, ManyNamesOfOneLicense) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "The GPL is a licence. ";
  EXPECT_EQ(licenses(text), "GPL");
  std::string versions = "GPL version 2";
  for (int i = 0; i < 100'000; ++i) versions += i % 2 ? " or 2" : " or 3";
  EXPECT_EQ(licenses(versions), "GPL-2.0-only GPL-3.0-only");
}

}  // namespace
}  // namespace quern::corpus
