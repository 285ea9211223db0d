import { isIP } from 'node:net'
import { describeError, UsageError } from '../lib/errors.ts'
import { parseCidr } from '../lib/ipNet.ts'
import type { Logger } from '../lib/logger.ts'
import { checkTides, type P2pOptions } from './base/options.ts'
import type { PeerAddress } from './host/multiaddrs.ts'
import { createAllowList } from './peers/allowList.ts'
import { namesOf, parseNamedAddress, parsePeerName } from './peers/peerNames.ts'

/** Checks options before any file is opened. Returns the static peers and names. Throws UsageError naming the flag. */
export function checkP2pOptions(options: P2pOptions): { staticPeers: PeerAddress[]; names: Record<string, string> } {
  // A zone (`fe80::1%eth0`) is local to this machine, and a multiaddress cannot hold it.
  if (isIP(options.listenIp) === 0 || options.listenIp.includes('%')) {
    throw new UsageError(`--p2p.listen.ip: ${options.listenIp} is not an IP address`)
  }
  if (options.advertiseIp?.includes('%') === true) {
    throw new UsageError(`--p2p.advertise.ip: ${options.advertiseIp} is neither an IP address nor a host name`)
  }
  checkTides(options.peersLow, options.peersHigh)
  const { meshD, meshLow, meshHigh, meshLazy } = options.gossip
  for (const [name, size] of Object.entries({ d: meshD, lo: meshLow, dhi: meshHigh, dlazy: meshLazy })) {
    if (!(size >= 1 && size <= 1000)) throw new UsageError(`--p2p.gossip.mesh.${name}: expected 1 to 1000, got ${size}`)
  }
  if (options.muxers.length === 0) throw new UsageError('--p2p.mux: at least one multiplexer is needed')
  if (options.security.length === 0) throw new UsageError('--p2p.security: at least one protocol is needed')
  if (options.security.includes('none') && options.security.length > 1) {
    throw new UsageError('--p2p.security: cannot mix secure transport protocols with no-security')
  }
  if (options.sequencerKey !== undefined && options.remoteSigner !== undefined) {
    throw new UsageError(
      'cannot specify both a private key and a remote signer for sequencer p2p (--p2p.sequencer.key, --signer.endpoint)',
    )
  }
  for (const cidr of options.ipColocationExempt) inFlag('p2p.score.ip-exempt', () => parseCidr(cidr))
  for (const cidr of options.discovery?.netrestrict ?? []) inFlag('p2p.netrestrict', () => parseCidr(cidr))
  inFlag('p2p.allow', () => createAllowList(options.allow, []))
  const staticPeers = options.staticPeers.map((text) => inFlag('p2p.static', () => parseNamedAddress(text)))
  const named = options.peerNames.map((text) => inFlag('p2p.names', () => parsePeerName(text)))
  return { staticPeers, names: namesOf([...staticPeers, ...named]) }
}

export function withoutSelf(peers: readonly PeerAddress[], ownId: string, logger: Logger): PeerAddress[] {
  const others = peers.filter((peer) => peer.peerId.toString() !== ownId)
  if (others.length < peers.length) logger.info('Static peer list contains this node itself, ignoring it')
  return others
}

function inFlag<T>(name: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new UsageError(`--${name}: ${describeError(error)}`)
  }
}
