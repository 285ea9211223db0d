import { type NodeCallOptions, opNodeFlags } from '../runner/programs.ts'
import type { NodeClientChoice } from './clients.ts'
import { konaL1Config } from './l1Config.ts'

/** A third-party program with its flags. */
export interface BinaryCall {
  binary: string
  args: string[]
  /** Secrets. They go through the environment because the process list shows arguments. */
  env?: Record<string, string>
}

export interface Sequencing {
  /** The key that signs gossiped blocks. */
  signerKey: string
  /** The sequencer starts stopped: it builds blocks only after `admin_startSequencer`. */
  stopped: boolean
}

/** op-node of 2026, which requires the L1 chain config (`--rollup.l1-chain-config`). */
export function opNode(
  binary: string,
  options: NodeCallOptions,
  { execution, sequencing }: Pick<NodeClientChoice, 'execution'> & { sequencing: Sequencing | undefined },
): BinaryCall {
  const { bootnodes } = options
  return {
    binary,
    args: [
      ...opNodeFlags(options),
      '--l1.trustrpc',
      `--l2.enginekind=${execution?.client === 'op-reth' ? 'reth' : 'geth'}`,
      ...listenFlags(options),
      ...(bootnodes === undefined ? ['--p2p.no-discovery'] : ['--p2p.discovery.path=memory']),
      // Without this flag op-node dials the bootnodes of public networks.
      `--p2p.bootnodes=${(bootnodes ?? []).join(',')}`,
      ...(sequencing === undefined ? [] : ['--sequencer.enabled', '--sequencer.l1-confs=0']),
      ...(sequencing?.stopped === true ? ['--sequencer.stopped'] : []),
    ],
    ...(sequencing === undefined ? {} : { env: { OP_NODE_P2P_SEQUENCER_KEY: sequencing.signerKey } }),
  }
}

/** kona-node, which has no flag for static peers. */
export function konaNode(
  binary: string,
  options: NodeCallOptions,
  { l1BlockTime }: { l1BlockTime: number },
): BinaryCall {
  const { files, ports, host, l1Rpc, l1Beacon, bootnodes } = options
  return {
    binary,
    args: [
      'node',
      '--metrics.enabled',
      `--metrics.addr=${host}`,
      `--metrics.port=${ports.metrics}`,
      `--l1-eth-rpc=${l1Rpc}`,
      '--l1-trust-rpc',
      `--l1-beacon=${l1Beacon ?? l1Rpc}`,
      `--l1-slot-duration-override=${l1BlockTime}`,
      `--l2-engine-rpc=http://127.0.0.1:${ports.engineRpc}`,
      `--l2-engine-jwt-secret=${files.jwt}`,
      `--l2-config-file=${files.rollupConfig}`,
      `--l1-config-file=${konaL1Config(files)}`,
      ...(files.dependencySet === undefined ? [] : [`--interop.dependency-set=${files.dependencySet}`]),
      `--rpc.addr=${host}`,
      `--port=${ports.rollupRpc}`,
      '--rpc.enable-admin',
      `--p2p.priv.path=${files.p2pKey}`,
      '--p2p.no-bootstore',
      ...listenFlags(options),
      ...(bootnodes === undefined ? ['--p2p.no-discovery'] : []),
      ...(bootnodes === undefined || bootnodes.length === 0 ? [] : [`--p2p.bootnodes=${bootnodes.join(',')}`]),
    ],
  }
}

function listenFlags({ host, ports, door }: NodeCallOptions): string[] {
  return [
    `--p2p.listen.ip=${host}`,
    `--p2p.listen.tcp=${ports.p2p}`,
    `--p2p.listen.udp=${ports.p2p}`,
    ...(door === undefined
      ? []
      : [`--p2p.advertise.ip=${door.ip}`, `--p2p.advertise.tcp=${door.port}`, `--p2p.advertise.udp=${ports.p2p}`]),
  ]
}
