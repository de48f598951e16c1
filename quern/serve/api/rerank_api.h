// Documents in the order in which they answer a query, as clients of Jina, Cohere and vLLM ask for it.
//   words    the share of the query's weight that is found: BM25 over the documents of the request, divided by what a
//            document made of the query's words alone would come near to; 0 to 1
//   meaning  the cosine of the embeddings this server makes of query and document
//   both     the mean of words and of meaning, the latter stretched over the request's documents from 0 to 1
// `words` needs no forward of the model and is what is done unless `x_score` says otherwise.
#pragma once
#include "quern/serve/http/http_server.h"
#include "quern/serve/models/served_model.h"

namespace quern {

void rerank(ServedModel& m, Exchange& e, const Json& body);       // {query, documents, top_n, return_documents}
void score_pairs(ServedModel& m, Exchange& e, const Json& body);  // {text_1, text_2}

// By words: a number from 0 to 1 a document.
std::vector<double> word_scores(std::string_view query, const std::vector<std::string>& documents);

}  // namespace quern
