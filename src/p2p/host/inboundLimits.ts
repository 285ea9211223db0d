import type { MultiaddrConnection } from '@libp2p/interface'
import type { Clock } from '../../lib/clock.ts'
import { parseCidr, parseIp, type Subnet, subnetContains } from '../../lib/ipNet.ts'
import { createTokenBuckets, type Rate } from '../../lib/tokenBucket.ts'

export interface InboundLimitsOptions {
  /** Connections per address, open or in handshake. go-libp2p allows 8. */
  openPerIp: number
  /** Handshakes per address. Each may take 10 s. */
  pendingPerIp: number
  /**
   * Handshakes of all addresses. A new one evicts the oldest. So an attacker with many addresses cannot keep other
   * peers out by silent connections: an honest handshake takes less than a second.
   */
  pending: number
  /** A handshake costs about 5 ms. */
  ratePerIp: Rate
  /** CIDR ranges without these limits. A testnet on one machine has all peers on one address. */
  exempt: readonly string[]
}

export const INBOUND_LIMITS: Omit<InboundLimitsOptions, 'exempt'> = {
  openPerIp: 16,
  pendingPerIp: 8,
  pending: 400,
  ratePerIp: { perSecond: 5, burst: 20 },
}

const IPS_REMEMBERED = 4_096
/** An owner of one IPv6 address usually has very many. go-libp2p also counts by /56. */
const IPV6_PREFIX_BYTES = 7

/** The connection members that the limits need: its close event, and `abort`. */
export type ClosingConnection = Pick<MultiaddrConnection, 'addEventListener' | 'abort'>

interface AddressUse {
  open: number
  pending: number
}

/** Prevents one address from using up the connections of all others. */
export type InboundLimits = ReturnType<typeof createInboundLimits>

export function createInboundLimits(modules: { clock: Clock }, options: InboundLimitsOptions) {
  const { clock } = modules
  const exempt: Subnet[] = options.exempt.map(parseCidr)
  const uses = new Map<string, AddressUse>()
  const rateOf = createTokenBuckets(clock, options.ratePerIp, IPS_REMEMBERED)
  /** Oldest first. */
  const pending = new Map<ClosingConnection, () => void>()

  const occupy = (address: string, connection: ClosingConnection): void => {
    const held = uses.get(address) ?? { open: 0, pending: 0 }
    uses.set(address, held)
    held.open += 1
    held.pending += 1
    const onHandshakeOver = (): void => {
      if (pending.delete(connection)) held.pending -= 1
    }
    const [oldest] = pending.size >= options.pending ? pending.keys() : []
    oldest?.abort(new Error('the handshake is slow, and newer connections are waiting'))
    pending.set(connection, onHandshakeOver)
    connection.addEventListener(
      'close',
      () => {
        onHandshakeOver()
        held.open -= 1
        if (held.open === 0) uses.delete(address)
      },
      { once: true },
    )
  }
  return {
    /** Undefined: accepted. Otherwise the exceeded limit. */
    refuse(ip: string, connection: ClosingConnection): string | undefined {
      const bytes = parseIp(ip)
      if (exempt.some((range) => subnetContains(range, bytes))) return undefined
      const address = bytes.length === 16 ? Buffer.from(bytes.subarray(0, IPV6_PREFIX_BYTES)).toString('hex') : ip
      const held = uses.get(address)
      if (held !== undefined && held.open >= options.openPerIp) return 'too many connections from this address'
      if (held !== undefined && held.pending >= options.pendingPerIp) return 'too many handshakes with this address'
      if (!rateOf(address).tryTake()) return 'too many connections a second from this address'
      occupy(address, connection)
      return undefined
    },
    /** The handshake is complete. */
    onUpgraded: (connection: ClosingConnection): void => pending.get(connection)?.(),
  }
}
