import { randomBytes } from 'node:crypto'
import type { Clock } from '../../../../lib/clock.ts'
import { createDiscv5 } from '../../../../p2p/discovery/discv5.ts'
import type { NodeRecord } from '../../../../p2p/discovery/nodeRecord.ts'
import { openUdpSocket } from '../../../../p2p/discovery/udpSocket.ts'

export interface UdpProbe {
  answered: boolean
  tookMs: number
  /** The record that the node serves now. */
  record: NodeRecord | undefined
  /** Our address as the node sees it. */
  seenAs: string | undefined
}

/** After the first answer, the probe waits this long for the other answer. */
const SECOND_ANSWER_MS = 1_000

/**
 * Performs a discv5 handshake with one node under a new identity. Requests the node's record and our address as the node
 * sees it. Resolves with the first answers, or after the time. Rejects when no UDP port can be opened.
 */
export async function probeUdp(
  modules: { clock: Clock },
  node: { publicKey: Uint8Array; ip: string; udpPort: number },
  timeoutMs: number,
): Promise<UdpProbe> {
  const { clock } = modules
  const startMs = clock.now()
  const isIp6 = node.ip.includes(':')
  const socket = await openUdpSocket(
    { clock },
    { ip: isIp6 ? '::' : '0.0.0.0', port: 0, isAllowed: (ip) => ip === node.ip },
  )
  const found: Pick<UdpProbe, 'record' | 'seenAs'> = { record: undefined, seenAs: undefined }
  let answeredMs: number | undefined
  let onAnswer: (() => void) | undefined
  const timers: (() => void)[] = []
  const answered = (): void => {
    answeredMs ??= clock.now()
    onAnswer?.()
  }
  const service = createDiscv5(
    {
      socket,
      clock,
      privateKey: new Uint8Array(randomBytes(32)),
      listener: {
        onRecord(record) {
          // The request goes to the node itself, but its answer may hold records of other nodes.
          if (!Buffer.from(record.publicKey).equals(Buffer.from(node.publicKey))) return
          found.record = record
          answered()
        },
        onSeen({ ip, udpPort }) {
          found.seenAs = ip.includes(':') ? `[${ip}]:${udpPort}` : `${ip}:${udpPort}`
          answered()
        },
        onSession() {},
        onLocalChange() {},
      },
    },
    {
      ip4: undefined,
      ip6: undefined,
      tcpPort: 0,
      tcp6Port: 0,
      udpPort: socket.port,
      udp6Port: socket.port,
      opstack: undefined,
    },
    { fixedAddress: true },
  )
  try {
    await service.start()
    service.contact(node)
    await new Promise<void>((resolve) => {
      timers.push(clock.setTimeout(resolve, timeoutMs))
      onAnswer = () => {
        if (found.record !== undefined && found.seenAs !== undefined) resolve()
        else timers.push(clock.setTimeout(resolve, SECOND_ANSWER_MS))
      }
    })
  } finally {
    onAnswer = undefined
    for (const cancel of timers) cancel()
    await service.stop()
    await socket.close()
  }
  return { answered: answeredMs !== undefined, tookMs: (answeredMs ?? clock.now()) - startMs, ...found }
}
