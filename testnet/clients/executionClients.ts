import { ETH_API, executionFlags, gethFlags, type NodeCallOptions, type NodeFiles } from '../runner/programs.ts'
import type { BinaryCall } from './rollupClients.ts'

export function opGethInit(binary: string, { gethDataDir, genesis }: NodeFiles): BinaryCall {
  return { binary, args: ['init', '--state.scheme=hash', `--datadir=${gethDataDir}`, genesis] }
}

/** op-geth without peers: the rollup node gives it all blocks. */
export function opGeth(binary: string, options: NodeCallOptions): BinaryCall {
  return {
    binary,
    args: [
      ...gethFlags(options),
      '--syncmode=full',
      '--gcmode=archive',
      '--http.vhosts=*',
      '--http.corsdomain=*',
      '--ws.origins=*',
      '--port=0',
      '--nodiscover',
      '--nat=none',
      '--ipcdisable',
      '--rollup.disabletxpoolgossip',
    ],
  }
}

/** op-reth. It writes the genesis block itself. */
export function opReth(binary: string, options: NodeCallOptions): BinaryCall {
  const { files, ports, host, sequencerRpc } = options
  return {
    binary,
    args: [
      'node',
      `--chain=${files.genesis}`,
      ...executionFlags(options),
      '--http.corsdomain=*',
      `--http.api=${ETH_API}`,
      '--ws.origins=*',
      `--metrics=${host}:${ports.gethMetrics}`,
      '--port=0',
      '--disable-discovery',
      '--ipcdisable',
      '--log.file.max-files=0',
      '--rollup.disable-tx-pool-gossip',
      ...(sequencerRpc === undefined ? [] : [`--rollup.sequencer-http=${sequencerRpc}`]),
    ],
  }
}
