import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { DeviumError, UsageError } from '../../src/lib/errors.ts'
import { fromHex } from '../../src/lib/hex.ts'
import type { AbiItem } from './abi.ts'

/** The parts of a compiled contract of @eth-optimism/contracts-bedrock that the deployment needs. */
export interface Artifact {
  name: string
  abi: readonly AbiItem[]
  /** Creation code, without constructor arguments. */
  creationCode: Uint8Array
  /** Runtime code. Immutables are still zero. */
  runtimeCode: Uint8Array
  /** Offsets of each immutable in the runtime code, in the order of declaration. */
  immutables: readonly (readonly { start: number; length: number }[])[]
}

interface ArtifactFile {
  abi: AbiItem[]
  bytecode: { object: string }
  deployedBytecode: { object: string; immutableReferences?: Record<string, { start: number; length: number }[]> }
}

/** Reads artifacts by contract name, each file once. The package holds 126 MB, and a testnet needs about 6 MB. */
export class ArtifactStore {
  private readonly root: string
  private readonly cache = new Map<string, Promise<Artifact>>()

  constructor(root: string) {
    this.root = root
  }

  read(name: string): Promise<Artifact> {
    let artifact = this.cache.get(name)
    if (artifact === undefined) {
      artifact = readArtifact(join(this.root, 'forge-artifacts', `${name}.sol`, `${name}.json`), name)
      this.cache.set(name, artifact)
    }
    return artifact
  }

  /** A Solidity source of the package. Some constants exist only there. */
  readSource(path: string): Promise<string> {
    return readFile(join(this.root, 'src', path), 'utf8')
  }
}

/** The directory of the contracts package. Throws UsageError if it is not installed. */
export function findContractsPackage(): string {
  try {
    return dirname(createRequire(import.meta.url).resolve('@eth-optimism/contracts-bedrock/package.json'))
  } catch (cause) {
    throw new UsageError(
      'the package @eth-optimism/contracts-bedrock is not installed: run npm ci, or beside an installed devium npm install @eth-optimism/contracts-bedrock@0.17.3',
      { cause },
    )
  }
}

async function readArtifact(path: string, name: string): Promise<Artifact> {
  let file: ArtifactFile
  try {
    file = JSON.parse(await readFile(path, 'utf8')) as ArtifactFile
  } catch (cause) {
    throw new DeviumError('artifact', `cannot read the contract artifact ${path}`, { cause })
  }
  const references = file.deployedBytecode.immutableReferences ?? {}
  return {
    name,
    abi: file.abi,
    creationCode: fromHex(file.bytecode.object, undefined, `${name} bytecode`),
    runtimeCode: fromHex(file.deployedBytecode.object, undefined, `${name} deployed bytecode`),
    // The keys are the compiler's declaration ids, which increase with the position in the source.
    immutables: Object.keys(references)
      .sort((a, b) => Number(a) - Number(b))
      .map((id) => references[id] ?? []),
  }
}

/** The runtime code as the constructor returns it. `values` are 32-byte words in the order of declaration. */
export function fillImmutables(artifact: Artifact, values: readonly Uint8Array[]): Uint8Array {
  if (values.length !== artifact.immutables.length) {
    throw new RangeError(`${artifact.name} has ${artifact.immutables.length} immutables, got ${values.length} values`)
  }
  const code = artifact.runtimeCode.slice()
  for (const [index, places] of artifact.immutables.entries()) {
    const value = values[index]
    for (const { start, length } of places) {
      if (value?.length !== length) throw new RangeError(`${artifact.name}: immutable ${index} takes ${length} bytes`)
      code.set(value, start)
    }
  }
  return code
}
