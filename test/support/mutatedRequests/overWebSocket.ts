import { connect } from 'node:net'
import { viewOf } from '../../../src/lib/bytes.ts'
import type { Random } from '../random.ts'
import { comparable, expectedIds, type Fault, faultOf } from './answers.ts'

const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const
const ANSWER_MS = 90_000

/**
 * Sends `bodies` as messages on one connection, among occasional invalid frames. The server must answer every complete message
 * until it closes, and each response must be valid.
 */
export function talk(random: Random, url: string, bodies: readonly Buffer[]): Promise<Fault> {
  const frames: Buffer[] = []
  const waiting: unknown[] = []
  let mayClose = false
  for (const body of bodies) {
    if (random.once(3)) {
      const odd = oddFrames(random, body)
      mayClose ||= odd.breaksRules
      frames.push(...odd.frames)
      if (odd.breaksRules) break
    }
    frames.push(...messageFrames(random, body))
    waiting.push(...expectedIds(body.toString()).ids)
  }
  frames.push(frame(OPCODE.ping, Buffer.from('end')))
  return converse(random, url, frames, { waiting, mayClose })
}

function converse(
  random: Random,
  url: string,
  frames: readonly Buffer[],
  { waiting, mayClose }: { waiting: unknown[]; mayClose: boolean },
): Promise<Fault> {
  const { hostname, port, host } = new URL(url)
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname)
    let read = Buffer.alloc(0)
    let isOpen = false
    let wasPinged = false
    const end = (fault?: Fault) => {
      clearTimeout(timer)
      socket.destroy()
      resolve(fault)
    }
    const timer = setTimeout(() => end(`no answer within ${ANSWER_MS} ms: ${waiting.length} are missing`), ANSWER_MS)
    const onFrame = (opcode: number, payload: Buffer): Fault | 'closed' => {
      if (opcode === OPCODE.close) return 'closed'
      if (opcode === OPCODE.pong) wasPinged ||= payload.toString() === 'end'
      return opcode === OPCODE.text ? takeAnswer(payload.toString(), waiting, mayClose) : undefined
    }
    socket
      .on('error', () => end(mayClose ? undefined : 'the connection was closed'))
      .on('close', () => end(mayClose ? undefined : 'the connection was closed'))
      .on('data', (chunk) => {
        read = Buffer.concat([read, chunk])
        if (!isOpen) {
          const at = read.indexOf('\r\n\r\n')
          if (at === -1) return
          const status = read.toString('latin1', 0, 12)
          if (status !== 'HTTP/1.1 101') return end(`a handshake that was answered by ${status}`)
          isOpen = true
          read = read.subarray(at + 4)
        }
        for (let next = serverFrame(read); next !== undefined; next = serverFrame(read)) {
          read = read.subarray(next.size)
          const fault = onFrame(next.opcode, next.payload)
          if (fault === 'closed') return end(mayClose ? undefined : 'the connection was closed')
          if (fault !== undefined) return end(fault)
        }
        if (wasPinged && waiting.length === 0) end()
      })
    socket.write(
      `GET / HTTP/1.1\r\nHost: ${host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${Buffer.alloc(16, 1).toString('base64')}\r\n\r\n`,
    )
    const all = Buffer.concat(frames)
    // Chunks with random ends.
    const cut = random.below(all.length + 1)
    socket.write(all.subarray(0, cut))
    const rest = all.subarray(cut)
    // After a frame with too large a length no response is expected.
    if (mayClose) socket.end(rest)
    else socket.write(rest)
  })
}

/** Removes an answered request from the list. `hasGarbage`: random bytes may form a frame whose message is invalid. */
function takeAnswer(text: string, waiting: unknown[], hasGarbage: boolean): Fault {
  let content: unknown
  try {
    content = JSON.parse(text)
  } catch {
    return 'an answer that is no JSON'
  }
  for (const one of Array.isArray(content) ? content : [content]) {
    const { method, id: answered } = one as { method?: unknown; id?: unknown }
    const id = comparable(answered)
    if (method === 'devium_subscription' || method === 'eth_subscription') continue
    const fault = faultOf(one, id)
    if (fault !== undefined) return fault
    const at = waiting.indexOf(id)
    if (at === -1 && hasGarbage && id === null) continue
    if (at === -1) return `an answer to ${JSON.stringify(id)}, which nobody asked`
    waiting.splice(at, 1)
  }
  return undefined
}

function messageFrames(random: Random, body: Buffer): Buffer[] {
  const opcode = random.of([OPCODE.text, OPCODE.text, OPCODE.binary])
  if (!random.once(4)) return [frame(opcode, body)]
  const at = random.below(body.length + 1)
  const first = frame(opcode, body.subarray(0, at), { isLast: false })
  const between = random.once(2) ? [frame(OPCODE.ping, random.bytes(random.below(126)))] : []
  return [first, ...between, frame(OPCODE.continuation, body.subarray(at))]
}

function oddFrames(random: Random, body: Buffer): { frames: Buffer[]; breaksRules: boolean } {
  const allowed = (...frames: Buffer[]) => ({ frames, breaksRules: false })
  const forbidden = (...frames: Buffer[]) => ({ frames, breaksRules: true })
  switch (random.below(11)) {
    case 0:
      return allowed(...Array.from({ length: 500 }, () => frame(OPCODE.ping, Buffer.from('x'))))
    case 1:
      return allowed(frame(OPCODE.pong, Buffer.from('unasked')))
    case 2:
      return forbidden(frame(OPCODE.continuation, body))
    case 3:
      return forbidden(frame(OPCODE.text, body, { isLast: false }), frame(OPCODE.text, body))
    case 4:
      return forbidden(frame(OPCODE.text, body, { isMasked: false }))
    case 5:
      return forbidden(frame(random.of([3, 7, 11, 15]), body))
    case 6:
      return forbidden(frame(OPCODE.ping, Buffer.alloc(126)))
    case 7:
      return forbidden(frame(OPCODE.ping, Buffer.from('a'), { isLast: false }))
    case 8:
      return forbidden(frame(OPCODE.text, body, { announced: random.of([2n ** 63n, 2n ** 32n, 6_000_000n]) }))
    case 9:
      return forbidden(frame(OPCODE.close, random.bytes(random.below(20))))
    default:
      return forbidden(random.bytes(50))
  }
}

interface FrameOptions {
  isLast?: boolean
  isMasked?: boolean
  /** A length that differs from the payload's. */
  announced?: bigint
}

function frame(opcode: number, payload: Buffer, options: FrameOptions = {}): Buffer {
  const { isLast = true, isMasked = true, announced } = options
  const head = Buffer.alloc(10)
  head[0] = (isLast ? 0x80 : 0) | opcode
  head[1] = (isMasked ? 0x80 : 0) | 127
  head.writeBigUInt64BE(announced ?? BigInt(payload.length), 2)
  // A long form for a short length. A control frame allows only the short form.
  const isShort = payload.length < 126 && announced === undefined
  if (isShort) head[1] = (isMasked ? 0x80 : 0) | payload.length
  const mask = Buffer.from([1, 2, 3, 4])
  const masked = payload.map((byte, index) => byte ^ (mask[index & 3] ?? 0))
  return Buffer.concat([head.subarray(0, isShort ? 2 : 10), ...(isMasked ? [mask, masked] : [payload])])
}

/** The first frame from the server; undefined until it is complete. */
function serverFrame(bytes: Buffer): { opcode: number; payload: Buffer; size: number } | undefined {
  const [first, second] = bytes
  if (first === undefined || second === undefined) return undefined
  const headSize = second === 126 ? 4 : second === 127 ? 10 : 2
  if (bytes.length < headSize) return undefined
  const view = viewOf(bytes)
  const length = second === 126 ? view.getUint16(2) : second === 127 ? Number(view.getBigUint64(2)) : second
  const size = headSize + length
  if (bytes.length < size) return undefined
  return { opcode: first & 0x0f, payload: bytes.subarray(headSize, size), size }
}
