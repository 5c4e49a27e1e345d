/** From the places of an answer to the chain that a person reads: layer by layer, from Python to the kernels. */

import type { Item } from "./protocol";

/** A layer, or one place in it. */
export interface Step {
  label: string;
  detail: string;
  /** A name of VS Code's icon set. */
  icon: string;
  item: Item | undefined;
  steps: Step[];
}

interface Layer {
  label: string;
  icon: string;
  roles: string[];
  /** Whether the layer is shown open. */
  open?: boolean;
}

/** In the order of a call; a role that is in none is shown at the end under its own name. */
const LAYERS: Layer[] = [
  { label: "Python", icon: "symbol-method", roles: ["python", "docs", "registry"], open: true },
  { label: "Schema", icon: "symbol-interface", roles: ["yaml"], open: true },
  { label: "Derivative", icon: "symbol-operator", roles: ["derivative", "autograd_function"] },
  { label: "Kernels", icon: "symbol-function", roles: ["structured_meta", "structured_impl", "native", "stub_kernel"], open: true },
  { label: "Device kernels", icon: "chip", roles: ["gpu_kernel"], open: true },
  { label: "Registrations", icon: "plug", roles: ["registration", "batching_rule", "autocast"] },
  { label: "Other layers", icon: "layers", roles: ["decomposition", "meta", "ref", "lowering", "jit", "onnx", "shape"] },
  { label: "Tests", icon: "beaker", roles: ["test"] },
];

/** The layers that an answer has, each with its places. */
export function chain(items: Item[]): (Step & { open: boolean })[] {
  const known = new Set(LAYERS.flatMap((layer) => layer.roles));
  const others = [...new Set(items.map((item) => item.role))].filter((role) => !known.has(role));
  const layers = [...LAYERS, ...others.map((role) => ({ label: role, icon: "symbol-misc", roles: [role] }))];
  return layers.flatMap((layer: Layer) => {
    const own = items.filter((item) => layer.roles.includes(item.role) && item.file);
    if (own.length === 0) {
      return [];
    }
    const steps = own.map((item) => step(item, layer.icon));
    return [{ label: layer.label, detail: `${own.length}`, icon: layer.icon, item: undefined, steps, open: layer.open ?? false }];
  });
}

function step(item: Item, icon: string): Step {
  const said = [item.dispatch_key, `${item.file}:${item.line}`, item.note].filter((text) => text);
  return { label: item.symbol, detail: said.join(" · "), icon, item, steps: [] };
}
