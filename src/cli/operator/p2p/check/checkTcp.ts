import { once } from 'node:events'
import { connect } from 'node:net'
import type { Clock } from '../../../../lib/clock.ts'
import { isLocalIp } from '../../../../p2p/discovery/recordFilter.ts'
import { classifyDialFailure, type DialFailure, type DialFailureReason } from '../../../../p2p/host/dialFailure.ts'
import { CLOSED_HINT } from './hints.ts'
import type { Endpoint } from './resolve.ts'
import type { Recorder } from './steps.ts'

interface Limits {
  timeoutMs: number
  signal?: AbortSignal | undefined
}

/** Finds the first endpoint that accepts a connection. Undefined: none does, and the failed steps are recorded. */
export async function checkTcp(
  { clock, record }: { clock: Clock; record: Recorder },
  endpoints: readonly Endpoint[],
  limits: Limits,
): Promise<Endpoint | undefined> {
  const failures: { failure: DialFailure; endpoint: Endpoint; tookMs: number }[] = []
  const noteFailures = (outcome: 'failed' | 'warning'): void => {
    for (const { failure, endpoint, tookMs } of failures) {
      const { reason } = failure
      record('tcp', outcome, textFor(failure, textOf(endpoint)), {
        hint: hintFor(reason, endpoint.ip),
        tookMs,
        data: { reason },
      })
    }
  }
  for (const endpoint of endpoints) {
    const startMs = clock.now()
    const failure = await failureOf(endpoint, limits)
    const tookMs = clock.now() - startMs
    if (failure !== undefined) {
      failures.push({ failure, endpoint, tookMs })
      continue
    }
    // Once one address works, failures of the others do not matter for a dial.
    noteFailures('warning')
    record('tcp', 'ok', `${textOf(endpoint)} accepts connections`, { tookMs, data: { ...endpoint } })
    return endpoint
  }
  noteFailures('failed')
  return undefined
}

const textOf = ({ ip, tcpPort }: Endpoint): string => `${ip.includes(':') ? `[${ip}]` : ip}:${tcpPort}`

/** Undefined if the endpoint accepts connections. Throws only the signal's reason. */
async function failureOf({ ip, tcpPort }: Endpoint, { timeoutMs, signal }: Limits): Promise<DialFailure | undefined> {
  const timeout = AbortSignal.timeout(timeoutMs)
  const socket = connect({ host: ip, port: tcpPort })
  try {
    await once(socket, 'connect', { signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]) })
    return undefined
  } catch (error) {
    signal?.throwIfAborted()
    return classifyDialFailure(error)
  } finally {
    socket.on('error', () => {})
    socket.destroy()
  }
}

/** Shorter than in a log line, because the hint explains the rest. */
function textFor({ reason, text }: DialFailure, at: string): string {
  switch (reason) {
    case 'refused':
      return `${at} refuses connections: nothing listens there`
    case 'timeout':
      return `${at} does not answer`
    case 'unreachable':
      return `no route to ${at} from here`
    case 'reset':
      return `${at} reset the connection right after it opened`
    default:
      return `${at}: ${text}`
  }
}

function hintFor(reason: DialFailureReason, ip: string): string {
  const isPrivate = isLocalIp(ip)
  switch (reason) {
    case 'refused':
      return 'the node is not running, or listens elsewhere (--p2p.listen.tcp, --p2p.listen.ip), or a firewall rejects the connection'
    case 'timeout':
      return isPrivate
        ? `${ip} is a private address, which only its own network can reach`
        : 'a firewall drops our packets, the host is down, or its router does not forward the port'
    case 'unreachable':
      if (ip.includes(':')) return 'check that this machine has IPv6'
      return isPrivate ? `${ip} is a private address of another network` : 'check the network of this machine'
    case 'reset':
      return CLOSED_HINT
    default:
      return 'the problem is on this machine'
  }
}
