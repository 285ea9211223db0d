import { createSocket } from 'node:dgram'
import { on, once } from 'node:events'
import { describeError } from '../../lib/errors.ts'
import { type MappedProtocol, type NatRouter, NatRouterError } from './natRouter.ts'

/** RFC 6886, section 3: the router's UDP port. */
export const NAT_PMP_PORT = 5351
/** Section 3.1: first retry after 250 ms, then each pause is twice as long. */
const FIRST_TRY_MS = 250
const MAX_ANSWER_BYTES = 16
const OPCODES: Record<MappedProtocol, number> = { udp: 1, tcp: 2 }
const EXTERNAL_ADDRESS = 0
const ANSWER = 128
/** Section 3.5. */
const RESULTS = [
  'success',
  'unsupported version',
  'not authorized',
  'network failure',
  'out of resources',
  'unsupported',
]

/** Speaks NAT-PMP with the router at this IPv4 address. */
export function createNatPmpRouter(router: { ip: string; port?: number }): NatRouter {
  const { ip, port = NAT_PMP_PORT } = router

  /** Undefined: not an answer to this request. Throws NatRouterError when the router refuses. */
  const contentOf = (answer: Buffer, request: Buffer): Buffer | undefined => {
    if (answer.length > MAX_ANSWER_BYTES || answer.length < 4) return undefined
    if (answer[0] !== 0 || answer[1] !== ANSWER + (request[1] ?? 0)) return undefined
    const result = answer.readUInt16BE(2)
    if (result === 0) return answer.subarray(8)
    const said = `NAT-PMP at ${ip}: ${RESULTS[result] ?? `result ${result}`}`
    throw new NatRouterError('refused', said, { details: { result } })
  }
  /** The answer's bytes after its header, at least `least`. */
  const send = async (request: Buffer, least: number, signal: AbortSignal): Promise<Buffer> => {
    const socket = createSocket('udp4')
    let timer: NodeJS.Timeout | undefined
    const transmit = (waitMs: number): void => {
      socket.send(request)
      timer = setTimeout(transmit, waitMs, waitMs * 2)
    }
    try {
      // A connected socket receives only the router's packets, and reports a closed port at once.
      socket.connect(port, ip)
      await once(socket, 'connect', { signal })
      transmit(FIRST_TRY_MS)
      for await (const [answer] of on(socket, 'message', { signal })) {
        const content = contentOf(answer, request)
        if (content !== undefined && content.length >= least) return content
      }
      throw new Error('the socket has closed')
    } catch (cause) {
      if (cause instanceof NatRouterError) throw cause
      const text = signal.aborted ? `no NAT-PMP answer from ${ip}` : `no NAT-PMP at ${ip}: ${describeError(cause)}`
      throw new NatRouterError('no-answer', text, { cause })
    } finally {
      clearTimeout(timer)
      socket.close()
    }
  }

  const map = async (
    protocol: MappedProtocol,
    ports: { internal: number; external: number },
    lifetimeS: number,
    signal: AbortSignal,
  ): Promise<Buffer> => {
    const request = Buffer.alloc(12)
    request[1] = OPCODES[protocol]
    request.writeUInt16BE(ports.internal, 4)
    request.writeUInt16BE(ports.external, 6)
    request.writeUInt32BE(lifetimeS, 8)
    return send(request, 8, signal)
  }
  return {
    name: `NAT-PMP ${ip}`,
    async externalIp(signal) {
      return (await send(Buffer.from([0, EXTERNAL_ADDRESS]), 4, signal)).subarray(0, 4).join('.')
    },
    async map({ protocol, internalPort, externalPort, lifetimeS }, signal) {
      const answer = await map(protocol, { internal: internalPort, external: externalPort }, lifetimeS, signal)
      const granted = { externalPort: answer.readUInt16BE(2), lifetimeS: answer.readUInt32BE(4) }
      if (answer.readUInt16BE(0) !== internalPort || granted.externalPort === 0 || granted.lifetimeS === 0) {
        throw new NatRouterError('bad-answer', `NAT-PMP at ${ip}: answer maps another port`)
      }
      return granted
    },
    async unmap({ protocol, internalPort }, signal) {
      // Section 3.4: a mapping is removed with lifetime 0 and external port 0.
      await map(protocol, { internal: internalPort, external: 0 }, 0, signal)
    },
  }
}
