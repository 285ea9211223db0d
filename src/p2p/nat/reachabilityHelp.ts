import type { ConnectionGater } from '@libp2p/interface'
import type { Clock } from '../../lib/clock.ts'
import type { Host } from '../host/host.ts'
import { ipOf } from '../host/multiaddrs.ts'
import type { P2pOptions } from '../options.ts'
import { AUTONAT_PROTOCOL, createAutoNat, isPublicIp, MAX_AUTONAT_STREAMS } from './autoNat.ts'
import { createDialBack } from './dialBack.ts'

/** Serves AutoNAT on the host. */
export function createReachabilityHelp(
  { host, gater, clock }: { host: Host; gater: ConnectionGater; clock: Clock },
  options: Pick<P2pOptions, 'security'>,
): { start(): Promise<void>; stop(): Promise<void> } {
  const dialBack = createDialBack({ gater }, options)
  const isOwn = (ip: string): boolean => host.getMultiaddrs().some((address) => ipOf(address) === ip)
  const answer = createAutoNat({
    clock,
    dialBack: dialBack.dial,
    isDialable: (ip) => isPublicIp(ip) && !isOwn(ip),
  })
  return {
    start: () => host.handle(AUTONAT_PROTOCOL, answer, { maxInboundStreams: MAX_AUTONAT_STREAMS }),
    async stop() {
      await host.unhandle(AUTONAT_PROTOCOL)
      await dialBack.stop()
    },
  }
}
