import { connect, createServer, type Socket } from 'node:net'

/** The faults of a link. */
export interface LinkQuality {
  /** In each direction. */
  delayMs: number
  /** In each direction; undefined: no limit. */
  bytesPerSecond?: number | undefined
  /**
   * Share of lost segments, 0 to 1. TCP sends a lost segment again, so no data is missing in the end. The segment and all data
   * behind it arrive later, by a retransmission timeout that doubles with each loss of the same segment.
   */
  loss?: number | undefined
}

/** A TCP proxy between two hosts that can inject faults. */
export interface TcpProxy {
  port: number
  /** Current connections pass no more data but stay open, as when a router forgets them. */
  freeze(): void
  /** Resets current connections, and new ones until `allow`. */
  cut(): void
  /** Data waits and connections stay open until `allow`, as when a cable is unplugged. */
  pause(): void
  allow(): void
  set(quality: LinkQuality): void
  connections(): number
  close(): Promise<void>
}

/** Bytes that wait in the proxy for one direction of one connection. The sender keeps the rest. */
const MAX_WAITING_BYTES = 256 * 1024
/** Payload of a segment on Ethernet, and Linux's minimum retransmission timeout (RFC 6298 says one second). */
const SEGMENT_BYTES = 1_448
const RETRANSMISSION_MS = 200
/** After this many losses a segment passes. The delay is 12.6 s then. */
const MAX_LOSSES = 6

/**
 * `targetPort` may be set later. Until then no connection may arrive, unless the link is paused. `host` is the address of the
 * proxy and of the target.
 */
export async function startTcpProxy(
  targetPort: number | (() => number),
  { host = '127.0.0.1' }: { host?: string } = {},
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
    const way: WayMaker = (from, to) => createWay(from, to, () => quality)
    const link = createLink(client, () => connect({ port: port(), host, allowHalfOpen: true, noDelay: true }), way)
    links.add(link)
    client.once('close', () => links.delete(link))
    link.hold(state === 'paused')
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, host, resolve)
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

/** One proxied connection. The target is dialed once data may pass. */
function createLink(client: Socket, connectTarget: () => Socket, createWay: WayMaker): Link {
  let target: Socket | undefined
  let ways: Way[] = []
  let isFrozen = false
  const open = (): void => {
    const socket = connectTarget()
    target = socket
    ways = [createWay(client, socket), createWay(socket, client)]
    socket.on('error', () => client.resetAndDestroy())
    // A frozen link does not pass the end of a connection either.
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

function createWay(from: Socket, to: Socket, quality: () => LinkQuality): Way {
  const waiting: { bytes: Buffer | undefined; atMs: number }[] = []
  let waitingBytes = 0
  let isHeld = false
  /** Time at which the last byte has left at the link's rate. */
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
    const lateMs = loss === 0 ? 0 : retransmissionMs(bytes?.length ?? 0, loss)
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

/** Delay of bytes caused by lost segments. */
export function retransmissionMs(bytes: number, loss: number, random = Math.random): number {
  let lateMs = 0
  for (let segment = 0; segment * SEGMENT_BYTES < bytes; segment++) {
    let losses = 0
    while (losses < MAX_LOSSES && random() < loss) losses += 1
    lateMs = Math.max(lateMs, RETRANSMISSION_MS * (2 ** losses - 1))
  }
  return lateMs
}
