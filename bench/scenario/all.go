package scenario

// All returns every scenario.
func All() []Scenario {
	return []Scenario{
		publish(), stockClients(), manyProducers(), largeMessages(), sustained(), topics(),
		endToEnd(), latency(), shared(), fanOut16(), eightSubscriptions(), nonPersistent(), partitioned(), redelivery(),
		deviceBytes(), keepUp(), drain(), restart(), idle(), manySubscriptions(), holes(),
		scrapePage(), inspect(), startup(), kinds(),
	}
}
