import type { ChainParameters } from '../../chainParameters.ts'
import { GETH_GAS_LIMIT } from './genesis.ts'

export interface GethFiles {
  dataDir: string
  genesis: string
  /** The secret of the Engine API. */
  jwt: string
}

export interface GethOptions {
  files: Pick<GethFiles, 'dataDir' | 'jwt'>
  host: string
  ports: { rpc: number; engine: number }
  chain: Pick<ChainParameters, 'l1ChainId'>
}

/** A payload takes up new transactions this often until it is asked for. */
const REBUILD_INTERVAL = '200ms'

/** Megabytes: the database takes as much on the disk before it holds anything. */
const CACHE_MB = 64

// Every state is written with its block: a program that is killed loses the newest blocks at most.
const DATABASE_FLAGS = ['--state.scheme=hash', '--gcmode=archive', `--cache=${CACHE_MB}`]
// Warnings and errors.
const LOG_FLAG = '--verbosity=2'

/** Writes the genesis block, or the forks of a kept chain anew. */
export function gethInitArguments({ dataDir, genesis }: Pick<GethFiles, 'dataDir' | 'genesis'>): string[] {
  return [`--datadir=${dataDir}`, ...DATABASE_FLAGS, LOG_FLAG, 'init', genesis]
}

/** An L1 of its own, which dials nobody, listens for nobody, and makes the blocks that its Engine API asks for. */
export function gethArguments({ files, host, ports, chain }: GethOptions): string[] {
  const api = 'eth,net,web3,debug,txpool'
  return [
    `--datadir=${files.dataDir}`,
    `--networkid=${chain.l1ChainId}`,
    '--syncmode=full',
    ...DATABASE_FLAGS,
    '--nodiscover',
    '--maxpeers=0',
    '--port=0',
    '--ipcdisable',
    '--http',
    `--http.addr=${host}`,
    `--http.port=${ports.rpc}`,
    `--http.api=${api}`,
    '--http.corsdomain=*',
    '--http.vhosts=*',
    // On one port.
    '--ws',
    `--ws.addr=${host}`,
    `--ws.port=${ports.rpc}`,
    `--ws.api=${api}`,
    '--ws.origins=*',
    '--authrpc.addr=127.0.0.1',
    `--authrpc.port=${ports.engine}`,
    `--authrpc.jwtsecret=${files.jwt}`,
    `--miner.gaslimit=${GETH_GAS_LIMIT}`,
    `--miner.recommit=${REBUILD_INTERVAL}`,
    LOG_FLAG,
  ]
}
