// POST /v1/rerank and /v1/score: ranks documents by relevance to a query, as the clients of Jina, Cohere and vLLM
// expect. `x_score` selects the score:
//   words    lexical: BM25 over the documents of the request, as a fraction of the highest score a document made only
//            of the query's words could approach; 0 to 1
//   meaning  embedding: cosine of the embeddings of query and document
//   both     hybrid: mean of words and of meaning, the latter rescaled over the request's documents to 0 to 1
//   model    what a reranker says of query and document together (an encoder folder with a head of one label)
// The default is `words`, which needs no forward pass; of a reranker `model`, of any other encoder `meaning`. Texts longer
// than an encoder reads are cut; usage.x_truncated_texts counts them.
#pragma once
#include "quern/serve/http/http_server.h"
#include "quern/serve/models/served_model.h"

namespace quern::serve {

void rerank(ServedModel& m, Exchange& e, const Json& body);       // {query, documents, top_n, return_documents}
void score_pairs(ServedModel& m, Exchange& e, const Json& body);  // {text_1, text_2}

// By words: a number from 0 to 1 a document.
std::vector<double> word_scores(std::string_view query, const std::vector<std::string>& documents);

}  // namespace quern::serve
