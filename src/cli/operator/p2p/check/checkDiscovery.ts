import type { Clock } from '../../../../lib/clock.ts'
import { describeError } from '../../../../lib/errors.ts'
import { formatMs, type Recorder } from './steps.ts'
import type { UdpProbe } from './udpProbe.ts'

export interface DiscoveryEndpoint {
  /** 33 bytes. */
  publicKey: Uint8Array
  ip: string
  udpPort: number
}

/** Runs in parallel with the other steps, because only the timeout shows a closed UDP port. */
export interface DiscoveryCheck {
  endpoint: DiscoveryEndpoint
  /** An error: this machine cannot open a UDP port. */
  result: Promise<UdpProbe | { error: unknown }>
}

/** Every reachable discovery service answers within this time. */
const MAX_TIMEOUT_MS = 4_000

export function startDiscoveryCheck(clock: Clock, endpoint: DiscoveryEndpoint, timeoutMs: number): DiscoveryCheck {
  const result = import('./udpProbe.ts')
    .then(({ probeUdp }) => probeUdp({ clock }, endpoint, Math.min(timeoutMs, MAX_TIMEOUT_MS)))
    .catch((error: unknown) => ({ error }))
  return { endpoint, result }
}

export async function finishDiscoveryCheck(
  record: Recorder,
  { endpoint, result }: DiscoveryCheck,
  expected: { chainId: bigint | undefined /** The peer has no TCP port. */; isOnlyWay: boolean },
): Promise<void> {
  const { ip, udpPort } = endpoint
  const at = `${ip.includes(':') ? `[${ip}]` : ip}:${udpPort}`
  const probe = await result
  if ('error' in probe) {
    record('udp', 'skipped', describeError(probe.error))
    return
  }
  const { tookMs, seenAs } = probe
  if (!probe.answered) {
    record(
      'udp',
      expected.isOnlyWay ? 'failed' : 'warning',
      `no answer of discovery at ${at} within ${formatMs(tookMs)}`,
      {
        hint: 'other nodes cannot find it: the UDP port is closed or filtered, or a node with another key uses it',
      },
    )
    return
  }
  const chainId = probe.record?.opstack?.chainId
  const text = [
    `discovery answers at ${at}`,
    ...(chainId === undefined ? [] : [`chain ${chainId}`]),
    ...(seenAs === undefined ? [] : [`sees us as ${seenAs}`]),
  ].join(', ')
  const data = { enr: probe.record?.text ?? null, chainId: chainId?.toString() ?? null, seenAs: seenAs ?? null }
  if (chainId === undefined || expected.chainId === undefined || chainId === expected.chainId) {
    record('udp', 'ok', text, { tookMs, data })
  } else {
    record('udp', 'failed', text, { tookMs, data, hint: `it follows chain ${chainId}, not ${expected.chainId}` })
  }
}
