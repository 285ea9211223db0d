import { parseCidr, parseIp, subnetContains } from '../../../../lib/ipNet.ts'
import type { BanRecord } from '../../../../p2p/base/schemas.ts'
import { formatTime } from '../../../shared/units.ts'
import { type CheckStep, printable } from './steps.ts'

/** Facts from the operator's own node that matter for the check of a peer. */
export interface OwnNodeView {
  peerId: string
  chainId: bigint | undefined
  /** A block that the node has. The check requests it from the peer. */
  blockNumber: number | undefined
  blockedPeers: readonly string[]
  blockedIps: readonly string[]
  /** Subnets in CIDR notation. */
  blockedSubnets: readonly string[]
  bans: readonly Pick<BanRecord, 'subject' | 'kind' | 'reason' | 'untilMs' | 'remainingS'>[]
  connected: readonly { peerId: string; isInbound: boolean; address: string | undefined }[]
}

/** Records how the operator's own node treats this peer. */
export function judgeOwnView(
  view: OwnNodeView,
  subject: { peerId: string | undefined; ips: readonly string[] },
): Omit<CheckStep, 'step' | 'tookMs'> {
  const { peerId, ips } = subject
  if (peerId === view.peerId) {
    return {
      outcome: 'warning',
      text: 'this is our own node',
      hint: 'a node does not dial itself. The check continues from the view of another node',
    }
  }
  const refusals = refusalsOf(view, peerId, ips)
  if (refusals.length > 0) {
    return {
      outcome: 'failed',
      text: `our node refuses it: ${refusals.map(({ text }) => text).join('; ')}`,
      hint: `to allow it: ${[...new Set(refusals.map(({ lift }) => `devium p2p unblock ${lift}`))].join(', ')}`,
      data: { refusals: refusals.map(({ text }) => text) },
    }
  }
  const connection = view.connected.find((peer) => peer.peerId === peerId)
  if (connection !== undefined) {
    // For an outbound connection, the dialled address is the one that was checked.
    const from =
      connection.address === undefined || !connection.isInbound
        ? ''
        : ` from ${printable(connection.address.replace(/\/p2p\/.*$/, ''))}`
    return {
      outcome: 'ok',
      text: `connected: ${connection.isInbound ? 'it dialled us' : 'we dialled it'}${from}`,
      data: { connected: true },
    }
  }
  return { outcome: 'ok', text: 'neither blocked nor banned, not connected', data: { connected: false } }
}

/** The peer is another node, and the operator's node is not connected to it. */
export function isApart(view: OwnNodeView, peerId: string | undefined): boolean {
  return peerId !== view.peerId && !view.connected.some((peer) => peer.peerId === peerId)
}

interface Refusal {
  text: string
  /** The argument of `devium p2p unblock`. */
  lift: string
}

function refusalsOf(view: OwnNodeView, peerId: string | undefined, ips: readonly string[]): Refusal[] {
  const refusals: Refusal[] = []
  if (peerId !== undefined && view.blockedPeers.includes(peerId)) {
    refusals.push({ text: 'the peer id is on the block list', lift: peerId })
  }
  for (const ip of ips) {
    if (view.blockedIps.includes(ip)) refusals.push({ text: `${ip} is on the block list`, lift: ip })
    for (const cidr of view.blockedSubnets) {
      if (subnetContains(parseCidr(cidr), parseIp(ip))) {
        refusals.push({ text: `the subnet ${cidr} is on the block list`, lift: cidr })
      }
    }
  }
  for (const { subject, reason, untilMs, remainingS } of view.bans) {
    if (subject !== peerId && !ips.includes(subject)) continue
    const until = `${formatTime(untilMs)}Z`
    refusals.push({
      text: `${subject === peerId ? 'the peer' : subject} is banned until ${until} (${Math.ceil(remainingS / 60)} min more): ${printable(reason, 200)}`,
      lift: subject,
    })
  }
  return refusals
}
