import { connect, createServer, type Socket } from 'node:net'

/** What a link does to the bytes that pass it. */
export interface LinkQuality {
  /** Each way. */
  delayMs: number
  /** Each way; undefined: no limit. */
  bytesPerSecond?: number | undefined
  /**
   * Share of segments that are lost, 0 to 1. TCP sends a lost segment again, so nothing is missing in the end: it and all behind
   * it come later, by a retransmission timeout that doubles with each loss of the same segment.
   */
  loss?: number | undefined
}

/** A link that can be broken: everything between two hosts passes through it. */
export interface TcpProxy {
  port: number
  /** What is connected now passes nothing on any more, and is not closed either: as when a router forgets it. */
  freeze(): void
  /** Resets what is connected, and resets what connects until `allow`. */
  cut(): void
  /** Resets what connects until `allow`; what is connected stays. */
  refuse(): void
  /** Nothing passes and nothing is closed until `allow`: as when a cable is pulled. What waits then passes. */
  pause(): void
  allow(): void
  set(quality: LinkQuality): void
  /** Connections that stand now. */
  connections(): number
  close(): Promise<void>
}

/** Bytes that wait in the proxy for one way of one connection; more stay with the sender. */
const MAX_WAITING_BYTES = 256 * 1024
/** Payload of a segment on Ethernet; Linux waits at least so long for its acknowledgement (RFC 6298 says a second). */
const SEGMENT_BYTES = 1_448
const RETRANSMISSION_MS = 200
/** After so many losses of one segment it passes: the wait is 12.6 s then. */
const MAX_LOSSES = 6

export interface TcpProxyOptions {
  /** Default: the system chooses. */
  listenPort?: number
  /** Where it listens, and the target does. */
  host?: string
  random?: () => number
}

/** `targetPort` may be known only later: nothing may connect before, unless the link is paused. */
export async function startTcpProxy(
  targetPort: number | (() => number),
  { listenPort = 0, host = '127.0.0.1', random = Math.random }: TcpProxyOptions = {},
): Promise<TcpProxy> {
  const links = new Set<Link>()
  let state: 'open' | 'refusing' | 'paused' = 'open'
  let quality: LinkQuality = { delayMs: 0 }
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    client.on('error', () => {})
    if (state === 'refusing') {
      client.resetAndDestroy()
      return
    }
    const port = typeof targetPort === 'number' ? () => targetPort : targetPort
    const way: WayMaker = (from, to) => createWay(from, to, { quality: () => quality, random })
    const link = createLink(client, () => connect({ port: port(), host, allowHalfOpen: true, noDelay: true }), way)
    links.add(link)
    client.once('close', () => links.delete(link))
    link.hold(state === 'paused')
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(listenPort, host, resolve)
  })
  const address = server.address()
  const each = (action: (link: Link) => void): void => {
    for (const link of [...links]) action(link)
  }
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    freeze: () => each((link) => link.freeze()),
    cut() {
      state = 'refusing'
      each((link) => link.reset())
    },
    refuse() {
      state = 'refusing'
    },
    pause() {
      state = 'paused'
      each((link) => link.hold(true))
    },
    allow() {
      state = 'open'
      each((link) => link.hold(false))
    },
    set(next) {
      quality = next
    },
    connections: () => links.size,
    async close() {
      each((link) => link.reset())
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

interface Link {
  hold(isHeld: boolean): void
  freeze(): void
  reset(): void
}

/** One connection through the proxy; the target is called once bytes may pass. */
function createLink(client: Socket, connectTarget: () => Socket, createWay: WayMaker): Link {
  let target: Socket | undefined
  let ways: Way[] = []
  let isFrozen = false
  const open = (): void => {
    const socket = connectTarget()
    target = socket
    ways = [createWay(client, socket), createWay(socket, client)]
    socket.on('error', () => client.resetAndDestroy())
    // The news of an end does not pass either while nothing does.
    socket.once('close', () => !isFrozen && client.destroy())
    client.once('close', () => !isFrozen && socket.destroy())
  }
  return {
    hold(isHeld) {
      if (isFrozen) return
      if (!isHeld && target === undefined && !client.destroyed) open()
      for (const way of ways) way.hold(isHeld)
    },
    freeze() {
      isFrozen = true
      for (const way of ways) way.hold(true)
    },
    reset() {
      isFrozen = true
      client.resetAndDestroy()
      target?.resetAndDestroy()
    },
  }
}

interface Way {
  hold(isHeld: boolean): void
}
type WayMaker = (from: Socket, to: Socket) => Way

function createWay(
  from: Socket,
  to: Socket,
  { quality, random }: { quality: () => LinkQuality; random: () => number },
): Way {
  const waiting: { bytes: Buffer | undefined; atMs: number }[] = []
  let waitingBytes = 0
  let isHeld = false
  /** When the last byte sent will have left at the link's rate. */
  let freeAtMs = 0
  let timer: NodeJS.Timeout | undefined
  const pass = (): void => {
    clearTimeout(timer)
    timer = undefined
    while (!isHeld) {
      const next = waiting[0]
      if (next === undefined || to.destroyed) break
      const waitMs = Math.max(next.atMs, freeAtMs) - performance.now()
      if (waitMs > 0) {
        timer = setTimeout(pass, waitMs)
        break
      }
      waiting.shift()
      if (next.bytes === undefined) {
        to.end()
        continue
      }
      waitingBytes -= next.bytes.length
      const { bytesPerSecond } = quality()
      if (bytesPerSecond !== undefined) {
        freeAtMs = Math.max(freeAtMs, performance.now()) + (next.bytes.length / bytesPerSecond) * 1000
      }
      to.write(next.bytes)
    }
    if (isHeld || waitingBytes > MAX_WAITING_BYTES) from.pause()
    else from.resume()
  }
  const add = (bytes: Buffer | undefined): void => {
    const { delayMs, loss = 0 } = quality()
    const lateMs = loss === 0 ? 0 : retransmissionMs(bytes?.length ?? 0, loss, random)
    waiting.push({ bytes, atMs: performance.now() + delayMs + lateMs })
    waitingBytes += bytes?.length ?? 0
    pass()
  }
  from.on('data', add)
  from.on('end', () => add(undefined))
  from.once('close', () => clearTimeout(timer))
  return {
    hold(next) {
      isHeld = next
      pass()
    },
  }
}

/** How much later bytes come because segments of theirs were lost. */
export function retransmissionMs(bytes: number, loss: number, random: () => number): number {
  let lateMs = 0
  for (let segment = 0; segment * SEGMENT_BYTES < bytes; segment++) {
    let losses = 0
    while (losses < MAX_LOSSES && random() < loss) losses += 1
    lateMs = Math.max(lateMs, RETRANSMISSION_MS * (2 ** losses - 1))
  }
  return lateMs
}
