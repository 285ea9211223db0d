import type { NodeCallOptions, NodeFiles } from '../runner/programs.ts'
import type { BinaryCall } from './rollupClients.ts'

const API = 'eth,net,web3,debug,txpool'

export function opGethInit(binary: string, { gethDataDir, genesis }: NodeFiles): BinaryCall {
  return { binary, args: ['init', '--state.scheme=hash', `--datadir=${gethDataDir}`, genesis] }
}

/** op-geth, without peers: its blocks come from the rollup node. */
export function opGeth(binary: string, { files, ports, host, sequencerRpc }: NodeCallOptions): BinaryCall {
  return {
    binary,
    args: [
      `--datadir=${files.gethDataDir}`,
      '--syncmode=full',
      '--gcmode=archive',
      '--http',
      `--http.addr=${host}`,
      `--http.port=${ports.ethRpc}`,
      '--http.vhosts=*',
      '--http.corsdomain=*',
      // The batch submitter limits the sequencer's blocks.
      `--http.api=${API}${sequencerRpc === undefined && host === '127.0.0.1' ? ',miner' : ''}`,
      '--ws',
      `--ws.addr=${host}`,
      `--ws.port=${ports.ethRpc}`,
      `--ws.api=${API}`,
      '--ws.origins=*',
      '--authrpc.addr=127.0.0.1',
      `--authrpc.port=${ports.engineRpc}`,
      `--authrpc.jwtsecret=${files.jwt}`,
      '--metrics',
      `--metrics.addr=${host}`,
      `--metrics.port=${ports.gethMetrics}`,
      '--port=0',
      '--nodiscover',
      '--nat=none',
      '--ipcdisable',
      '--rollup.disabletxpoolgossip',
      ...(sequencerRpc === undefined ? [] : [`--rollup.sequencerhttp=${sequencerRpc}`]),
    ],
  }
}

/** op-reth, which writes the genesis block itself. */
export function opReth(binary: string, { files, ports, host, sequencerRpc }: NodeCallOptions): BinaryCall {
  return {
    binary,
    args: [
      'node',
      `--chain=${files.genesis}`,
      `--datadir=${files.gethDataDir}`,
      '--http',
      `--http.addr=${host}`,
      `--http.port=${ports.ethRpc}`,
      '--http.corsdomain=*',
      `--http.api=${API}`,
      '--ws',
      `--ws.addr=${host}`,
      `--ws.port=${ports.ethRpc}`,
      `--ws.api=${API}`,
      '--ws.origins=*',
      '--authrpc.addr=127.0.0.1',
      `--authrpc.port=${ports.engineRpc}`,
      `--authrpc.jwtsecret=${files.jwt}`,
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
