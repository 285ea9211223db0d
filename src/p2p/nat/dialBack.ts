import { generateKeyPair } from '@libp2p/crypto/keys'
import type { ConnectionGater } from '@libp2p/interface'
import { tcp } from '@libp2p/tcp'
import { yamux } from '@libp2p/yamux'
import { createLibp2p, type Libp2p } from 'libp2p'
import { encrypters } from '../host/host.ts'
import { silentComponentLogger } from '../host/libp2pLogger.ts'
import type { P2pOptions } from '../options.ts'
import { type AutoNatModules, DIAL_TIMEOUT_MS } from './autoNat.ts'

/** Many stay when the other side takes its leave. */
const CLOSE_TIMEOUT_MS = 1_000
/** The other addresses are to have a chance, too. */
const ADDRESS_TIMEOUT_MS = 5_000

export interface DialBack {
  dial: AutoNatModules['dialBack']
  stop(): Promise<void>
}

/**
 * Dials peers under another peer id, as go-libp2p does: under ours, a peer would be found at the connection that it has
 * made. Our gater has its say. The host is made with the first dial.
 */
export function createDialBack(modules: { gater: ConnectionGater }, options: Pick<P2pOptions, 'security'>): DialBack {
  let starting: Promise<Libp2p> | undefined
  const start = async (): Promise<Libp2p> =>
    createLibp2p({
      privateKey: await generateKeyPair('secp256k1'),
      logger: silentComponentLogger,
      addresses: { listen: [] },
      transports: [tcp({ dialOpts: { noDelay: true } })],
      connectionEncrypters: await encrypters(options),
      streamMuxers: [yamux({ maxInboundStreams: 0 })],
      connectionGater: modules.gater,
      connectionManager: {
        reconnectRetries: 0,
        dialTimeout: DIAL_TIMEOUT_MS,
        addressDialTimeout: ADDRESS_TIMEOUT_MS,
      },
      connectionMonitor: { enabled: false },
    })
  return {
    async dial(peer, addresses, signal) {
      starting ??= start()
      const host = await starting
      try {
        const connection = await host.dial(
          addresses.map((address) => address.encapsulate(`/p2p/${peer}`)),
          { signal, force: true },
        )
        void connection
          .close({ signal: AbortSignal.timeout(CLOSE_TIMEOUT_MS) })
          .catch((error: Error) => connection.abort(error))
        return connection.remoteAddr.decapsulate(`/p2p/${peer}`)
      } finally {
        await host.peerStore.delete(peer)
      }
    },
    async stop() {
      await (await starting)?.stop()
    },
  }
}
