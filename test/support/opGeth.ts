import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createPatientClient } from '../../src/jsonRpc/testUtils/patientClient.ts'
import { until } from '../../src/lib/testUtils/until.ts'
import { claimPort, startProgram } from './programs.ts'

export interface OpGeth {
  engineUrl: string
  rpcUrl: string
  /** Path of the Engine API's secret. */
  jwtPath: string
}

/**
 * Starts an op-geth with the genesis of a testnet's join directory and its data below `directory`, and waits until it answers. It
 * syncs from `peer` over devp2p, if given.
 */
export async function startOpGeth(binary: string, joinDir: string, directory: string, peer?: OpGeth): Promise<OpGeth> {
  mkdirSync(directory, { recursive: true })
  const datadir = join(directory, 'geth')
  const jwtPath = join(directory, 'jwt.txt')
  const [engine, http] = [await claimPort(), await claimPort()]
  writeFileSync(jwtPath, randomBytes(32).toString('hex'))
  execFileSync(binary, ['init', '--state.scheme=hash', `--datadir=${datadir}`, join(joinDir, 'genesis.json')], {
    stdio: 'ignore',
  })
  startProgram(binary, [
    `--datadir=${datadir}`,
    '--http',
    `--http.port=${http}`,
    '--http.api=eth,net,web3,debug,admin',
    `--authrpc.port=${engine}`,
    `--authrpc.jwtsecret=${jwtPath}`,
    '--port=0',
    '--nodiscover',
    '--netrestrict=127.0.0.0/8',
    '--syncmode=full',
    '--gcmode=archive',
    '--rollup.disabletxpoolgossip',
    '--nat=none',
    '--ipcdisable',
  ])
  const rpcUrl = `http://127.0.0.1:${http}`
  const client = createPatientClient({ url: rpcUrl })
  try {
    await until(() => client.request('eth_chainId', []))
    if (peer !== undefined) await client.request('admin_addPeer', [await enodeOf(peer)])
  } finally {
    await client.close()
  }
  return { engineUrl: `http://127.0.0.1:${engine}`, rpcUrl, jwtPath }
}

async function enodeOf({ rpcUrl }: OpGeth): Promise<string> {
  const client = createPatientClient({ url: rpcUrl })
  try {
    const { enode } = (await client.request('admin_nodeInfo', [])) as { enode: string }
    return enode.replace(/@[^:]+:/, '@127.0.0.1:')
  } finally {
    await client.close()
  }
}
