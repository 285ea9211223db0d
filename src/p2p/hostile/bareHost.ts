import { noise } from '@chainsafe/libp2p-noise'
import { generateKeyPair } from '@libp2p/crypto/keys'
import type { Libp2p, ServiceMap } from '@libp2p/interface'
import { tcp } from '@libp2p/tcp'
import { yamux } from '@libp2p/yamux'
import { createLibp2p, type Libp2pOptions } from 'libp2p'
import { silentComponentLogger } from '../host/libp2pLogger.ts'

/** An unmodified libp2p host over TCP, noise and yamux, with a new key. It listens only if the options say so. */
export async function startBareHost<Services extends ServiceMap>(
  options: Partial<Libp2pOptions<Services>> = {},
): Promise<Libp2p<Services>> {
  return createLibp2p<Services>({
    privateKey: await generateKeyPair('secp256k1'),
    logger: silentComponentLogger,
    addresses: { listen: [] },
    transports: [tcp()],
    connectionEncrypters: [noise()],
    streamMuxers: [yamux()],
    connectionMonitor: { enabled: false },
    ...options,
  })
}
