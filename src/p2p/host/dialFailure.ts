import { describeError } from '../../lib/errors.ts'

/** The stages at which a dial can fail, in their order, with an explanation for the operator. */
const DIAL_FAILURE_TEXT = {
  'no-address': 'no address that can be dialled over TCP',
  'name-not-found': 'the host name does not resolve',
  local: 'this machine cannot dial that address',
  unreachable: 'no route to that host from here',
  timeout: 'no answer in time: the host is down, the address is wrong, or a firewall drops our packets',
  refused: 'connection refused: the host answers, but nothing listens on that port',
  reset: 'the connection was reset at once: the node may have blocked our address, or be full',
  closed: 'the peer closed the connection during the handshake: it may have blocked or banned us, or be full',
  'not-libp2p': 'the service on that port does not speak libp2p',
  'no-security': 'the peer offers no transport security that we support (--p2p.security)',
  handshake: 'the security handshake failed',
  'no-muxer': 'the peer offers no stream multiplexer that we support (--p2p.mux)',
  'other-peer': 'another peer answers there',
  'blocked-by-us': 'our own block list, --p2p.allow or ban refuses it',
  self: 'it is this node itself',
  unknown: 'the dial failed',
}
export type DialFailureReason = keyof typeof DIAL_FAILURE_TEXT

export interface DialFailure {
  reason: DialFailureReason
  /** One line for the operator, without a full stop. */
  text: string
}

/** Node's error codes of sockets and name resolution. */
const BY_CODE: Readonly<Record<string, DialFailureReason>> = {
  ENOTFOUND: 'name-not-found',
  EAI_AGAIN: 'name-not-found',
  ENODATA: 'name-not-found',
  ESERVFAIL: 'name-not-found',
  EADDRNOTAVAIL: 'local',
  EAFNOSUPPORT: 'local',
  EACCES: 'local',
  EPERM: 'local',
  EINVAL: 'local',
  EMFILE: 'local',
  ENFILE: 'local',
  ENETUNREACH: 'unreachable',
  EHOSTUNREACH: 'unreachable',
  ENETDOWN: 'unreachable',
  EHOSTDOWN: 'unreachable',
  ETIMEDOUT: 'timeout',
  ECONNREFUSED: 'refused',
  ECONNRESET: 'reset',
  ECONNABORTED: 'reset',
  EPIPE: 'reset',
}
/** libp2p 3's error classes. */
const BY_NAME: Readonly<Record<string, DialFailureReason>> = {
  TimeoutError: 'timeout',
  AbortError: 'timeout',
  NoValidAddressesError: 'no-address',
  DNSQueryFailedError: 'name-not-found',
  DialDeniedError: 'blocked-by-us',
  ConnectionInterceptedError: 'blocked-by-us',
}
/** libp2p wraps errors of a handshake and keeps only their text (noise 17, libp2p 3). */
const BY_TEXT: readonly [RegExp, DialFailureReason][] = [
  [/dial(?: to)? self/i, 'self'],
  [/does not match expected remote identity key/, 'other-peer'],
  [/no common muxers/, 'no-muxer'],
  [/could not negotiate .*\/(?:yamux|mplex)\//, 'no-muxer'],
  [/could not negotiate/, 'no-security'],
  [/Missing newline|while reading [1-9]\d*\/|message length|data length/i, 'not-libp2p'],
  [/aborted|timed? ?out/i, 'timeout'],
  [/Unexpected EOF|closed|reset|ended/i, 'closed'],
]
/** Distinct addresses in one text. */
const MAX_NAMED = 3

/** Classifies an error that libp2p or node:net throws from a dial. Never throws. */
export function classifyDialFailure(error: unknown): DialFailure {
  if (error instanceof AggregateError) {
    if (error.errors.length === 1) return classifyDialFailure(error.errors[0])
    if (error.errors.length > 1) return classifySeveral(error.errors)
  }
  const reason = reasonOf(error)
  const detail = describeError(error)
  if (reason === 'other-peer') {
    const [, found, expected] = /key (\S+) does not match expected remote identity key (\S+)/.exec(detail) ?? []
    if (found !== undefined && expected !== undefined) {
      return { reason, text: `another peer answers there: ${found} instead of ${expected}` }
    }
  }
  if (reason === 'handshake' || reason === 'unknown' || reason === 'local') {
    return { reason, text: `${DIAL_FAILURE_TEXT[reason]}: ${detail}` }
  }
  const at = endpointOf(error)
  return { reason, text: DIAL_FAILURE_TEXT[reason] + (at === undefined ? '' : ` (${at})`) }
}

/** Uses the reason of the address that reached the latest stage. */
function classifySeveral(errors: readonly unknown[]): DialFailure {
  const all = errors.map(classifyDialFailure)
  const farthest = all.reduce((best, next) => (rankOf(next) > rankOf(best) ? next : best))
  if (all.every(({ reason }) => reason === farthest.reason) && farthest.reason !== 'other-peer') {
    return { ...farthest, text: `${DIAL_FAILURE_TEXT[farthest.reason]} (${all.length} addresses)` }
  }
  const texts = [...new Set(all.map(({ text }) => text))]
  const more = texts.length > MAX_NAMED ? `; ${texts.length - MAX_NAMED} more` : ''
  return { ...farthest, text: texts.slice(0, MAX_NAMED).join('; ') + more }
}

function rankOf({ reason }: DialFailure): number {
  return reason === 'unknown' ? -1 : Object.keys(DIAL_FAILURE_TEXT).indexOf(reason)
}

function reasonOf(error: unknown): DialFailureReason {
  if (!(error instanceof Error)) return 'unknown'
  const byCode = 'code' in error && typeof error.code === 'string' ? BY_CODE[error.code] : undefined
  if (byCode !== undefined) return byCode
  const byName = BY_NAME[error.name]
  if (byName !== undefined) return byName
  const byText = BY_TEXT.find(([pattern]) => pattern.test(error.message))?.[1]
  if (byText !== undefined) return byText
  if (error.name === 'EncryptionFailedError') return 'handshake'
  if (error.name === 'MuxerUnavailableError') return 'no-muxer'
  return error.cause === undefined ? 'unknown' : reasonOf(error.cause)
}

/** The address and port that node:net sets on its errors. */
function endpointOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('address' in error) || !('port' in error)) return undefined
  const { address, port } = error
  if (typeof address !== 'string' || typeof port !== 'number') return undefined
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`
}
