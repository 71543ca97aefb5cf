# networkx finds paths, ranks and communities, and draws.
import networkx as nx
import matplotlib.pyplot as plt

graph = nx.Graph([("a", "b", {"weight": 1}), ("b", "c", {"weight": 2}), ("a", "c", {"weight": 5}), ("c", "d")])
assert nx.shortest_path(graph, "a", "d") == ["a", "c", "d"]
assert nx.dijkstra_path(graph, "a", "c") == ["a", "b", "c"]
assert abs(sum(nx.pagerank(graph).values()) - 1) < 1e-6
assert nx.is_connected(graph) and nx.density(graph) > 0.5
assert len(nx.community.louvain_communities(nx.barbell_graph(4, 0), seed=0)) == 2
nx.draw(graph, with_labels=True)
plt.savefig("graph.png")
plt.close()
assert open("graph.png", "rb").read(4) == b"\x89PNG"
