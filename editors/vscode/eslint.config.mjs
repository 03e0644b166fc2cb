import tseslint from "typescript-eslint";

export default tseslint.config(...tseslint.configs.strictTypeChecked, {
  languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
  rules: {
    "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
    "@typescript-eslint/no-floating-promises": [
      "error",
      { allowForKnownSafeCalls: [{ from: "package", name: ["test"], package: "node:test" }] },
    ],
    // It fails at constructors that declare properties.
    "@typescript-eslint/unified-signatures": "off",
  },
});
