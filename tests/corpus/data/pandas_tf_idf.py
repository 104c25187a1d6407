import numpy as np
import pandas as pd

docs = pd.read_csv("reviews.csv")["text"].head(12).str.lower().str.replace(r"[^\w\s]", "", regex=True)
vocab = sorted(set(" ".join(docs).split()))
tf = pd.DataFrame([[d.split().count(w) for w in vocab] for d in docs], columns=vocab)
idf = np.log(len(docs) / (tf > 0).sum())
tfidf = tf.mul(idf)
print(tfidf.shape, tfidf.max().sort_values(ascending=False, kind="stable").head(4).round(3).to_dict())
norm = tfidf.to_numpy() / np.linalg.norm(tfidf, axis=1, keepdims=True)
sim = norm @ norm.T
np.fill_diagonal(sim, 0)
print(sim.max().round(4), np.unravel_index(sim.argmax(), sim.shape))
