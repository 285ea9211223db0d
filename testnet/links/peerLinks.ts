import { type LinkQuality, startTcpProxy, type TcpProxy } from './tcpProxy.ts'

export interface LinkedNode {
  name: string
  /** Port for peers. */
  port: number
  /** Port on which its execution client accepts transactions. */
  ethPort?: number
}

export type Pair = [earlier: string, later: string]

const WHOLE: LinkQuality = { delayMs: 0 }

/**
 * The TCP proxies between the nodes of a testnet. Each pair has one proxy, by which the later node dials the earlier.
 * A node found by discovery is dialed at its door, a proxy that cannot identify its clients. Doors therefore accept nobody while
 * a fault is active, so that no connection avoids its link.
 */
export class PeerLinks {
  /** The proxy for transactions to the sequencer. They are not peer traffic, but also go between nodes. */
  private readonly entrance: TcpProxy
  private readonly entranceTarget: { port: number }
  private readonly host: string
  private readonly nodes: LinkedNode[] = []
  private readonly doors = new Map<string, TcpProxy>()
  private readonly pairs = new Map<string, TcpProxy>()
  /** Pairs that nodes do not dial by themselves. */
  private readonly joined = new Set<string>()
  private sides: readonly (readonly string[])[] = []
  /** Faulty links by key. */
  private readonly faults = new Map<string, LinkQuality>()

  private constructor(host: string, entrance: TcpProxy, entranceTarget: { port: number }) {
    this.host = host
    this.entrance = entrance
    this.entranceTarget = entranceTarget
  }

  static async open(nodes: readonly LinkedNode[], host: string): Promise<PeerLinks> {
    const target = { port: nodes[0]?.ethPort ?? 0 }
    const links = new PeerLinks(host, await startTcpProxy(() => target.port, { host }), target)
    for (const node of nodes) await links.add(node)
    return links
  }

  get entrancePort(): number {
    return this.entrance.port
  }

  /** Leads transactions to another execution client. */
  moveEntrance(ethPort: number): void {
    this.entranceTarget.port = ethPort
    // Clients keep their connections, which lead to the old sequencer.
    this.entrance.cut()
    this.entrance.allow()
  }

  /** The nodes in order. The later node of a pair dials. */
  names(): string[] {
    return this.nodes.map(({ name }) => name)
  }

  async add(node: LinkedNode): Promise<void> {
    this.nodes.push(node)
    const door = await startTcpProxy(node.port, { host: this.host })
    this.doors.set(node.name, door)
    if (this.isFaulty()) door.cut()
  }

  async remove(name: string): Promise<void> {
    this.nodes.splice(this.names().indexOf(name), 1)
    const removed = [...this.pairs].filter(([key]) => key.split('-').includes(name))
    for (const [key] of removed) {
      this.pairs.delete(key)
      this.joined.delete(key)
    }
    await Promise.all([...removed.map(([, proxy]) => proxy.close()), this.doors.get(name)?.close()])
    this.doors.delete(name)
  }

  /** The port that a node announces to others. */
  doorPort(name: string): number {
    return this.doors.get(name)?.port ?? 0
  }

  pairPort(one: string, other: string): number {
    return this.pairs.get(this.key(one, other))?.port ?? 0
  }

  hasPair(one: string, other: string): boolean {
    return this.pairs.has(this.key(one, other))
  }

  /** Opens a proxy and returns the port by which the later node dials the earlier. */
  async openPair(one: string, other: string): Promise<number> {
    const key = this.key(one, other)
    const known = this.pairs.get(key)
    if (known !== undefined) return known.port
    const target = this.nodes.find(({ name }) => key.startsWith(`${name}-`))
    const proxy = await startTcpProxy(target?.port ?? 0, { host: this.host })
    this.pairs.set(key, proxy)
    this.apply()
    return proxy.port
  }

  /** The same for two nodes that do not dial each other by themselves. */
  async joinPair(one: string, other: string): Promise<number> {
    this.joined.add(this.key(one, other))
    return await this.openPair(one, other)
  }

  joinedPairs(): Pair[] {
    return [...this.joined].map(partsOf)
  }

  /** Whether the later node dials the earlier by itself. */
  isKept(one: string, other: string): boolean {
    const key = this.key(one, other)
    return this.pairs.has(key) && !this.joined.has(key)
  }

  pair(one: string, other: string): Pair {
    return partsOf(this.key(one, other))
  }

  /** `sequencer-verifier1`: the earlier node first. */
  key(one: string, other: string): string {
    const names = this.names()
    return [one, other].sort((a, b) => names.indexOf(a) - names.indexOf(b)).join('-')
  }

  areParted(one: string, other: string): boolean {
    const sideOf = (name: string) => this.sides.findIndex((side) => side.includes(name))
    return sideOf(one) !== sideOf(other)
  }

  /** Cuts only the connections between different sides. No sides: no partition. */
  part(sides: readonly (readonly string[])[]): void {
    this.sides = sides
    this.apply()
  }

  /** Sets the fault of one link; undefined removes the fault. */
  set(one: string, other: string, quality: LinkQuality | undefined): void {
    if (quality === undefined) this.faults.delete(this.key(one, other))
    else this.faults.set(this.key(one, other), quality)
    this.apply()
  }

  heal(): void {
    this.sides = []
    this.faults.clear()
    this.apply()
  }

  isFaulty(): boolean {
    return this.sides.length > 0 || this.faults.size > 0
  }

  async close(): Promise<void> {
    await Promise.all([this.entrance, ...this.doors.values(), ...this.pairs.values()].map((proxy) => proxy.close()))
  }

  private apply(): void {
    for (const door of this.doors.values()) {
      if (this.isFaulty()) door.cut()
      else door.allow()
    }
    for (const [key, proxy] of this.pairs) {
      const [one, other] = partsOf(key)
      const quality = this.faults.get(key) ?? WHOLE
      proxy.set(quality)
      if (this.areParted(one, other)) proxy.cut()
      // Total loss is a pause: data waits, and neither end is notified.
      else if (quality.loss === 1) proxy.pause()
      else proxy.allow()
    }
  }
}

function partsOf(key: string): Pair {
  const [earlier = '', later = ''] = key.split('-')
  return [earlier, later]
}
