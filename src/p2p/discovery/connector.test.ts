import { beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { silentLogger } from '../../lib/logger.ts'
import { type Connector, type ConnectorHost, createConnector } from './connector.ts'

/** A network of peers that answer, refuse, or never answer. */
class FakeHost implements ConnectorHost {
  readonly connected = new Set<string>()
  readonly dials: string[] = []
  readonly signals: AbortSignal[] = []
  peers: string[] = []
  refusing = new Set<string>()
  silent = new Set<string>()

  connectedCount = (): number => this.connected.size
  isConnected = (id: string): boolean => this.connected.has(id)
  candidates = async (): Promise<string[]> => this.peers
  async dial(id: string, signal: AbortSignal): Promise<void> {
    this.dials.push(id)
    this.signals.push(signal)
    if (this.refusing.has(id)) throw new Error('connection refused')
    if (this.silent.has(id)) {
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    }
    this.connected.add(id)
  }
}

describe('connector', () => {
  let clock: ManualClock
  let host: FakeHost
  let connector: Connector
  let results: string[]
  const metrics = { onDial: (result: string) => void results.push(result) }
  const create = (goal: number, random = () => 0): void => {
    connector = createConnector({ host, clock, logger: silentLogger, metrics, random }, { goal, dialTimeoutMs: 10_000 })
    connector.start()
  }
  beforeEach(() => {
    clock = new ManualClock(1_000_000)
    host = new FakeHost()
    results = []
  })
  const names = (count: number): string[] => Array.from({ length: count }, (_, i) => `p${i}`)

  it('dials until there are enough peers, then checks every 20 s; without enough peers, every 5 s', async () => {
    host.peers = names(4)
    create(2)
    // The first check finds dials in progress, the second one finds enough peers.
    await clock.advance(0)
    await clock.advance(5_100)
    expect(host.connected.size).toBe(2)
    expect(host.dials).toHaveLength(2)
    const [lost = ''] = host.connected
    host.connected.delete(lost)
    host.peers = ['p0', 'p1', 'p2', 'p3'].filter((id) => id !== lost)
    await clock.advance(15_000)
    expect(host.connected.size).toBe(1)
    await clock.advance(5_000)
    expect(host.connected.size).toBe(2)
    host.connected.clear()
    host.peers = []
    await clock.advance(20_000)
    host.peers = ['late']
    await clock.advance(5_000)
    expect([...host.connected]).toEqual(['late'])
  })

  it('runs at most four dials at once, and ends each after 10 s', async () => {
    host.peers = names(12)
    host.silent = new Set(host.peers)
    create(20)
    await clock.advance(100)
    expect(host.dials).toHaveLength(4)
    await clock.advance(9_800)
    expect(host.dials).toHaveLength(4)
    await clock.advance(200)
    expect(host.dials).toHaveLength(8)
  })

  it('doubles the pause before an unreachable peer is dialled again, until discovery reports it again', async () => {
    host.peers = ['gone']
    host.refusing.add('gone')
    create(1)
    const dialledAtS: number[] = []
    for (let second = 0; second <= 1_000; second++) {
      const count = host.dials.length
      await clock.advance(second === 0 ? 0 : 1_000)
      if (host.dials.length > count) dialledAtS.push(second)
    }
    // Pauses of 5 s, doubled up to five minutes.
    expect(dialledAtS).toEqual([0, 5, 15, 35, 75, 155, 315, 615, 915])
    host.refusing.clear()
    const before = host.dials.length
    connector.onCandidate('gone')
    await clock.advance(0)
    expect(host.dials).toHaveLength(before + 1)
    expect(host.connected.has('gone')).toBe(true)
    expect(results).toEqual([...Array.from({ length: before }, () => 'unknown'), 'connected'])
  })

  it('dials in random order', async () => {
    host.peers = names(4)
    const lots = [0.7, 0.2, 0.9, 0.4]
    create(4, () => lots.shift() ?? 1)
    await clock.advance(0)
    expect(host.dials).toEqual(['p1', 'p3', 'p0', 'p2'])
  })

  it('dials a peer at once if discovery reports it during a check', async () => {
    const reading = Promise.withResolvers<string[]>()
    host.candidates = () => reading.promise
    create(1)
    connector.onCandidate('late')
    await clock.advance(0)
    host.candidates = async () => ['late']
    reading.resolve([])
    await clock.advance(0)
    await clock.advance(0)
    expect([...host.connected]).toEqual(['late'])
  })

  it('dials no peer after its stop', async () => {
    host.peers = ['slow']
    host.silent.add('slow')
    create(1)
    await clock.advance(0)
    host.peers = ['slow', 'other']
    let isOver = false
    host.signals[0]?.addEventListener('abort', () => {
      isOver = true
    })
    connector.stop()
    expect(isOver).toBe(true)
    for (let n = 0; n < 20; n++) await clock.advance(5_000)
    expect(host.dials).toHaveLength(1)
    expect(results).toEqual([])
    connector.onCandidate('other')
    for (let n = 0; n < 20; n++) await clock.advance(5_000)
    expect(host.dials).toHaveLength(1)
  })
})
