import type { Clock } from '../../lib/clock.ts'
import { isLocalIp } from '../discovery/recordFilter.ts'
import type { DialFailure, DialFailureReason } from '../host/dialFailure.ts'
import { describeForeign } from './foreignService.ts'
import { CLOSED_HINT } from './hints.ts'
import type { Recorder } from './recorder.ts'
import type { Endpoint } from './resolve.ts'
import { formatMs } from './steps.ts'
import { type Greeting, probeTcp } from './tcpProbe.ts'

/**
 * Looks for the first endpoint that takes a connection, and what speaks there. Undefined: it ends here, as the steps
 * noted say.
 */
export async function checkTcp(
  modules: { clock: Clock; record: Recorder },
  endpoints: readonly Endpoint[],
  options: { timeoutMs: number; signal?: AbortSignal | undefined },
): Promise<Endpoint | undefined> {
  const { record } = modules
  const failures: { text: string; hint: string; tookMs: number; reason: DialFailureReason }[] = []
  const noteFailures = (outcome: 'failed' | 'warning'): void => {
    for (const { text, hint, tookMs, reason } of failures)
      record('tcp', outcome, text, { hint, tookMs, data: { reason } })
  }
  for (const endpoint of endpoints) {
    const at = `${endpoint.ip.includes(':') ? `[${endpoint.ip}]` : endpoint.ip}:${endpoint.tcpPort}`
    const probe = await probeTcp(modules, endpoint, options)
    if (probe.kind === 'failed') {
      const { reason } = probe.failure
      failures.push({
        reason,
        tookMs: probe.tookMs,
        text: textFor(probe.failure, at),
        hint: hintFor(reason, endpoint.ip),
      })
      continue
    }
    // Others of its addresses do not matter for a dial, once one does.
    noteFailures('warning')
    record('tcp', 'ok', `${at} takes connections`, { tookMs: probe.tookMs, data: { ...endpoint } })
    return checkGreeting(record, probe.greeting, probe.greetingMs) ? endpoint : undefined
  }
  noteFailures('failed')
  return undefined
}

/** Shorter than for a log line: the hint says the rest. */
function textFor({ reason, text }: DialFailure, at: string): string {
  switch (reason) {
    case 'refused':
      return `${at} refuses connections: nothing listens there`
    case 'timeout':
      return `${at} does not answer`
    case 'unreachable':
      return `no route to ${at} from here`
    case 'reset':
      return `${at} reset the connection as soon as it stood`
    default:
      return `${at}: ${text}`
  }
}

function hintFor(reason: DialFailureReason, ip: string): string {
  const isPrivate = isLocalIp(ip)
  switch (reason) {
    case 'refused':
      return 'the node is not running, or listens elsewhere (--p2p.listen.tcp, --p2p.listen.ip), or a firewall rejects'
    case 'timeout':
      return isPrivate
        ? `${ip} is a private address: it can be reached from its own network only`
        : 'a firewall drops our packets, the host is down, or its router does not pass the port on'
    case 'unreachable':
      if (ip.includes(':')) return 'has this machine IPv6 at all?'
      return isPrivate ? `${ip} is a private address of another network` : 'check the network of this machine'
    case 'reset':
      return CLOSED_HINT
    default:
      return 'the fault is on this machine'
  }
}

/** False: there is no noise to be had. */
function checkGreeting(record: Recorder, greeting: Greeting, afterMs: number): boolean {
  const after = formatMs(afterMs)
  switch (greeting.kind) {
    case 'foreign':
      record('security', 'failed', `not libp2p: it answers as ${describeForeign(greeting.firstBytes)}`, {
        tookMs: afterMs,
        hint: 'the port of another service? Nodes listen for peers on --p2p.listen.tcp, 9222 by default',
        data: { firstBytes: Buffer.from(greeting.firstBytes).toString('hex') },
      })
      return false
    case 'silent':
      record('security', 'failed', `it says nothing for ${after}`, {
        tookMs: afterMs,
        hint: 'a node that hangs, or a proxy or load balancer with nothing behind it',
      })
      return false
    case 'closed':
      record(
        'security',
        'failed',
        `${greeting.isReset ? 'reset' : 'closed'} ${after} after connecting, without a word`,
        {
          tookMs: afterMs,
          hint: CLOSED_HINT,
          data: { closedAfterMs: afterMs },
        },
      )
      return false
    case 'libp2p':
      break
  }
  if (greeting.security === '/noise') return true
  const offer = greeting.security === undefined ? 'nor any other that we know' : `but ${greeting.security}`
  record('security', 'failed', `libp2p, yet it does not offer noise, ${offer}`, {
    tookMs: afterMs,
    hint: 'OP Stack nodes speak noise: look at --p2p.security there',
    data: { offers: greeting.security ?? null },
  })
  return false
}
