import { type ChildProcess, execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createPatientClient } from '../../src/jsonRpc/testUtils/patientClient.ts'
import { toHex } from '../../src/lib/hex.ts'
import { until } from '../../src/lib/testUtils/until.ts'
import { claimPort, startProgram } from './programs.ts'

export interface OpGeth {
  engineUrl: string
  rpcUrl: string
  /** Path of the Engine API's secret. */
  jwtPath: string
}

/** Starts an op-geth with its data below `directory`, and waits until it answers. `genesis` is a file. */
export async function launchOpGeth(
  binary: string,
  options: { directory: string; genesis: string; secret?: Uint8Array; flags: readonly string[] },
): Promise<OpGeth & { process: ChildProcess }> {
  const { directory, genesis, secret = randomBytes(32), flags } = options
  mkdirSync(directory, { recursive: true })
  const datadir = join(directory, 'geth')
  const jwtPath = join(directory, 'jwt.txt')
  writeFileSync(jwtPath, toHex(secret))
  execFileSync(binary, ['init', '--state.scheme=hash', `--datadir=${datadir}`, genesis], { stdio: 'ignore' })
  const [engine, http] = [await claimPort(), await claimPort()]
  const process = startProgram(binary, [
    `--datadir=${datadir}`,
    '--http',
    `--http.port=${http}`,
    `--authrpc.port=${engine}`,
    `--authrpc.jwtsecret=${jwtPath}`,
    '--port=0',
    '--nodiscover',
    '--syncmode=full',
    '--gcmode=archive',
    '--nat=none',
    '--ipcdisable',
    ...flags,
  ])
  const rpcUrl = `http://127.0.0.1:${http}`
  await call(rpcUrl, 'eth_chainId')
  return { engineUrl: `http://127.0.0.1:${engine}`, rpcUrl, jwtPath, process }
}

/** Starts an op-geth with the genesis of a testnet's join directory. It syncs from `peer` over devp2p, if given. */
export async function startOpGeth(binary: string, joinDir: string, directory: string, peer?: OpGeth): Promise<OpGeth> {
  const genesis = join(joinDir, 'genesis.json')
  const flags = ['--http.api=eth,net,web3,debug,admin', '--netrestrict=127.0.0.0/8', '--rollup.disabletxpoolgossip']
  const geth = await launchOpGeth(binary, { directory, genesis, flags })
  if (peer !== undefined) {
    const { enode } = (await call(peer.rpcUrl, 'admin_nodeInfo')) as { enode: string }
    await call(geth.rpcUrl, 'admin_addPeer', enode.replace(/@[^:]+:/, '@127.0.0.1:'))
  }
  return geth
}

/** Repeats the call until it is answered. */
async function call(url: string, method: string, ...params: unknown[]): Promise<unknown> {
  const client = createPatientClient({ url })
  try {
    return await until(`op-geth: ${method}`, () => client.request(method, params))
  } finally {
    await client.close()
  }
}
