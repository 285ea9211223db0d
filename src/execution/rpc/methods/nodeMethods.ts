import { keccak256Hex } from '../../../lib/hash.ts'
import { toQuantity } from '../../../lib/hex.ts'
import type { ReadableChain } from '../../chain/chainView.ts'
import type { MethodTable } from '../context.ts'
import type { RpcOptions } from '../options.ts'
import { data, method } from '../params.ts'

/** Methods about the node itself. There is no execution-layer p2p network: blocks come through the rollup node. */
export function createNodeMethods(
  { chain }: { chain: ReadableChain },
  { clientVersion, networkId, datadir }: Pick<RpcOptions, 'clientVersion' | 'networkId' | 'datadir'>,
): MethodTable {
  return {
    eth_chainId: method([], () => toQuantity(chain.config.chainId)),
    eth_syncing: method([], () => false),

    net_version: method([], () => networkId.toString()),
    net_listening: method([], () => true),
    net_peerCount: method([], () => '0x0'),
    web3_clientVersion: method([], () => clientVersion),
    web3_sha3: method([data], ([bytes]) => keccak256Hex(bytes)),
    debug_chainConfig: method([], () => chain.config.json),
    admin_nodeInfo: method([], () => ({
      name: clientVersion,
      listenAddr: '',
      ports: { discovery: 0, listener: 0 },
      protocols: {
        eth: {
          network: Number(networkId),
          genesis: chain.genesis.hash,
          config: chain.config.json,
          head: chain.head().hash,
        },
      },
    })),
    admin_peers: method([], () => []),
    admin_datadir: method([], () => datadir),
  }
}
