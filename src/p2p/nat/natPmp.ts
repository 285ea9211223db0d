import { createSocket } from 'node:dgram'
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

  /** The answer's bytes after its header. Opcode and result have been checked. */
  const send = (request: Buffer, answerBytes: number, signal: AbortSignal): Promise<Buffer> =>
    new Promise((resolve, reject) => {
      const socket = createSocket('udp4')
      let timer: NodeJS.Timeout | undefined
      const end = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', onAbort)
        socket.close()
      }
      const fail = (error: NatRouterError): void => {
        end()
        reject(error)
      }
      const onAbort = (): void => fail(new NatRouterError('no-answer', `no NAT-PMP answer from ${ip}`))
      if (signal.aborted) return onAbort()
      signal.addEventListener('abort', onAbort, { once: true })
      // A connected socket receives only the router's packets, and reports a closed port at once.
      socket.on('error', (cause) =>
        fail(new NatRouterError('no-answer', `no NAT-PMP at ${ip}: ${describeError(cause)}`, { cause })),
      )
      socket.on('message', (answer) => {
        if (answer.length > MAX_ANSWER_BYTES || answer.length < 4) return
        if (answer[0] !== 0 || answer[1] !== ANSWER + (request[1] ?? 0)) return
        const result = answer.readUInt16BE(2)
        if (result !== 0) {
          return fail(
            new NatRouterError('refused', `NAT-PMP at ${ip}: ${RESULTS[result] ?? `result ${result}`}`, {
              details: { result },
            }),
          )
        }
        if (answer.length < answerBytes) return
        end()
        resolve(answer.subarray(8))
      })
      const transmit = (waitMs: number): void => {
        socket.send(request)
        timer = setTimeout(transmit, waitMs, waitMs * 2)
      }
      socket.connect(port, ip, () => {
        if (!signal.aborted) transmit(FIRST_TRY_MS)
      })
    })

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
    return send(request, 16, signal)
  }
  return {
    name: `NAT-PMP ${ip}`,
    async externalIp(signal) {
      return (await send(Buffer.from([0, EXTERNAL_ADDRESS]), 12, signal)).subarray(0, 4).join('.')
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
