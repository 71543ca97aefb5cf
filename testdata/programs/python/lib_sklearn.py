# scikit-learn trains and judges; asking for all processors is no error.
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score, confusion_matrix
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

X, y = load_iris(return_X_y=True)
a, b, c, d = train_test_split(X, y, random_state=0)
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(a, c)
assert accuracy_score(d, model.predict(b)) > 0.9
assert confusion_matrix(d, model.predict(b)).shape == (3, 3)
scores = cross_val_score(RandomForestClassifier(10, n_jobs=-1, random_state=0), X, y, cv=3, n_jobs=-1)
assert scores.mean() > 0.9
assert len(set(KMeans(3, n_init=2, random_state=0).fit_predict(X))) == 3
line = LinearRegression().fit([[0], [1], [2]], [1, 3, 5])
assert line.coef_.round(6).tolist() == [2] and round(float(line.intercept_), 6) == 1

# Labels and positions have the width that they have elsewhere.
from sklearn.neighbors import NearestNeighbors
from sklearn.tree import DecisionTreeClassifier

for clusters in (DBSCAN(), AgglomerativeClustering(3)):
    assert not hasattr(clusters, "labels_")
    assert clusters.fit_predict(X).dtype == clusters.labels_.dtype == "int64"
assert KMeans(3, n_init=1, random_state=0).fit(X).labels_.dtype == "int32"
assert NearestNeighbors().fit(X).kneighbors(X[:2])[1].dtype == DecisionTreeClassifier().fit(X, y).apply(X).dtype == "int64"

from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import GridSearchCV, ShuffleSplit
from sklearn.neighbors import LocalOutlierFactor
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures

search = GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2]}).fit(X, y)
for positions in (
    DBSCAN().fit(X).core_sample_indices_, AgglomerativeClustering(3).fit(X).children_, PolynomialFeatures().fit(X).powers_,
    BaggingClassifier(n_estimators=2).fit(X, y).estimators_features_[0], search.best_index_, search.best_estimator_.n_classes_,
    next(ShuffleSplit(1).split(X))[0], LocalOutlierFactor().fit_predict(X), OneHotEncoder(dtype=int).fit_transform([["a"]]),
):
    assert positions.dtype == "int64", (positions, positions.dtype)
try:
    LocalOutlierFactor(novelty=True).fit_predict(X)
except AttributeError as e:
    assert "has no attribute 'fit_predict'" in str(e), e
else:
    raise AssertionError("an outlier factor for novelties has no labels")
assert not hasattr(DBSCAN(), "core_sample_indices_") and AgglomerativeClustering(2).fit(X).set_params(n_clusters=3).fit(X).n_leaves_ == 150
